#include "cuda/dnn/problem.h"

namespace halftone::cuda {
namespace {

constexpr int64_t kMost = INT32_MAX;
// Bytes, which kernels of cuDNN load at a time.
constexpr uintptr_t kAlignment = 16;

bool find_type(DType dtype, DnnType* out) {
  if (dtype == DType::kF32) *out = DnnType::kFloat;
  if (dtype == DType::kF16) *out = DnnType::kHalf;
  if (dtype == DType::kBF16) *out = DnnType::kBfloat16;
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

// A tensor with elements, which are dense.
bool fits(const View& view, DType dtype) {
  const int64_t count = view.numel();
  return view.dtype == dtype && is_contiguous(view) && count > 0 && count <= kMost &&
         reinterpret_cast<uintptr_t>(view.data) % kAlignment == 0;
}

// A transposed convolution can leave out the last positions of its windows; cuDNN refuses that.
bool has_all_positions(const ConvArgs& args, int dim) {
  const ConvWindow& window = args.window;
  const int64_t reach = window.dilation[dim] * (args.weight.shape[2 + dim] - 1) + 1;
  const int64_t size = args.input.shape[2 + dim] + 2 * window.padding[dim];
  return size >= reach && (size - reach) / window.stride[dim] + 1 == args.output.shape[2 + dim];
}

bool fits_window(const ConvArgs& args) {
  for (int dim = 0; dim < 2; ++dim) {
    const ConvWindow& window = args.window;
    if (window.stride[dim] > kMost || window.padding[dim] > kMost / 4 || window.dilation[dim] > kMost) return false;
    if (!has_all_positions(args, dim)) return false;
  }
  return true;
}

// In the forward pass cuDNN adds a bias before it rounds. Elsewhere it may round the sums before it adds them to what
// is there, which changes nothing in FP32 alone.
bool takes_ending(ConvPass pass, const ConvArgs& args) {
  const View& bias = args.bias;
  const DType dtype = args.weight.dtype;
  if (bias.data == nullptr) return args.store == Store::kWrite || dtype == DType::kF32;
  if (pass == ConvPass::kGradInput) return dtype == DType::kF32 && bias.dtype != DType::kF64;
  return fits(bias, dtype);
}

void copy_sizes(const Shape& shape, int32_t (&out)[4]) {
  for (int d = 0; d < 4; ++d) out[d] = static_cast<int32_t>(shape[d]);
}

void copy_steps(const int64_t (&steps)[2], int32_t (&out)[2]) {
  for (int d = 0; d < 2; ++d) out[d] = static_cast<int32_t>(steps[d]);
}

DnnMath most_math(DType dtype, bool allows_tf32) {
  if (dtype != DType::kF32) return DnnMath::kTensor;
  return allows_tf32 ? DnnMath::kDefault : DnnMath::kFma;
}

bool is_sum_of_products(const DnnProblem& problem, DnnAlgorithm algorithm) {
  if (problem.pass == ConvPass::kGradInput) return algorithm == DnnAlgorithm::kGradInputImplicit;
  if (problem.pass == ConvPass::kGradWeight) return algorithm == DnnAlgorithm::kGradWeightImplicit;
  if (algorithm == DnnAlgorithm::kForwardPrecomputed) return true;
  // cuDNN adds a bias without an activation in one algorithm alone.
  return !problem.has_bias &&
         (algorithm == DnnAlgorithm::kForwardImplicit || algorithm == DnnAlgorithm::kForwardColumns);
}

}  // namespace

bool describe(ConvPass pass, const ConvArgs& args, bool allows_tf32, DnnProblem* out) noexcept {
  const DType dtype = args.weight.dtype;
  DnnProblem problem;
  if (!find_type(dtype, &problem.type)) return false;
  if (!fits(args.input, dtype) || !fits(args.weight, dtype) || !fits(args.output, dtype)) return false;
  if (!fits_window(args) || !takes_ending(pass, args)) return false;
  problem.pass = pass;
  problem.math = most_math(dtype, allows_tf32);
  copy_sizes(args.input.shape, problem.input);
  copy_sizes(args.weight.shape, problem.weight);
  copy_sizes(args.output.shape, problem.output);
  copy_steps(args.window.padding, problem.padding);
  copy_steps(args.window.stride, problem.stride);
  copy_steps(args.window.dilation, problem.dilation);
  problem.groups = static_cast<int32_t>(args.groups);
  problem.has_bias = args.bias.data != nullptr;
  problem.adds = args.store == Store::kAdd;
  *out = problem;
  return true;
}

bool is_exact(const DnnProblem& problem, const DnnFound& found) noexcept {
  if (found.status != DnnStatus::kSuccess || found.determinism != DnnDeterminism::kDeterministic) return false;
  if (found.math == DnnMath::kConvert) return false;
  if (problem.math == DnnMath::kFma && found.math == DnnMath::kTensor) return false;
  return is_sum_of_products(problem, found.algorithm);
}

}  // namespace halftone::cuda
