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

bool has_size(const View& view) { return view.numel() > 0 && view.numel() <= kMost; }

bool is_short(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

// FP32 holds every number of 16 bits.
bool is_exact_in(DType dtype, const View& view) {
  return view.dtype == dtype || (dtype == DType::kF32 && is_short(view.dtype));
}

bool is_ready(const View& view, DType dtype) {
  return view.dtype == dtype && is_contiguous(view) && reinterpret_cast<uintptr_t>(view.data) % kAlignment == 0;
}

// Returns false if an operand does not become the result's dtype without a rounding. The bias of a gradient is no
// operand of cuDNN.
bool find_copies(ConvPass pass, const ConvArgs& args, DnnCopies* copies) {
  const DType dtype = (args.*result_of(pass)).dtype;
  const bool reads_bias = args.bias.data != nullptr && pass == ConvPass::kForward;
  for (const ConvView view : {&ConvArgs::input, &ConvArgs::weight, &ConvArgs::output, &ConvArgs::bias}) {
    if (view == result_of(pass) || (view == &ConvArgs::bias && !reads_bias)) continue;
    if (!is_exact_in(dtype, args.*view)) return false;
    if (!is_ready(args.*view, dtype)) copies->views[copies->count++] = view;
  }
  return true;
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
  if ((args.*result_of(pass)).dtype == DType::kF32) return args.bias.data == nullptr || args.bias.dtype != DType::kF64;
  return args.store == Store::kWrite && (args.bias.data == nullptr || pass == ConvPass::kForward);
}

void copy_sizes(const Shape& shape, int32_t (&out)[4]) {
  for (int d = 0; d < 4; ++d) out[d] = static_cast<int32_t>(shape[d]);
}

void copy_steps(const int64_t (&steps)[2], int32_t (&out)[2]) {
  for (int d = 0; d < 2; ++d) out[d] = static_cast<int32_t>(steps[d]);
}

// TF32 holds every number of 16 bits, so it rounds no operand that was one.
DnnMath most_math(ConvPass pass, const ConvArgs& args, bool allows_tf32) {
  const ConvView result = result_of(pass);
  if (is_short((args.*result).dtype)) return DnnMath::kTensor;
  bool is_safe = true;
  for (const ConvView view : {&ConvArgs::input, &ConvArgs::weight, &ConvArgs::output}) {
    is_safe &= view == result || is_short((args.*view).dtype);
  }
  return allows_tf32 || is_safe ? DnnMath::kDefault : DnnMath::kFma;
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

ConvView result_of(ConvPass pass) noexcept {
  if (pass == ConvPass::kForward) return &ConvArgs::output;
  return pass == ConvPass::kGradInput ? &ConvArgs::input : &ConvArgs::weight;
}

bool describe(ConvPass pass, const ConvArgs& args, bool allows_tf32, DnnProblem* out, DnnCopies* copies) noexcept {
  const View& result = args.*result_of(pass);
  DnnProblem problem;
  *copies = {};
  if (!find_type(result.dtype, &problem.type) || !is_ready(result, result.dtype)) return false;
  if (!has_size(args.input) || !has_size(args.weight) || !has_size(args.output)) return false;
  if (!fits_window(args) || !takes_ending(pass, args) || !find_copies(pass, args, copies)) return false;
  problem.pass = pass;
  problem.math = most_math(pass, args, allows_tf32);
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
