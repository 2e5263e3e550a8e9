#include "cuda/dnn/convolve.h"

#include "cuda/base/kernel_groups.h"
#include "cuda/gemm/lt_multiply.h"

namespace halftone::cuda {
namespace {

const char* function_of(const DnnProblem& problem) {
  if (problem.pass == ConvPass::kGradInput) return "cudnnConvolutionBackwardData";
  if (problem.pass == ConvPass::kGradWeight) return "cudnnConvolutionBackwardFilter";
  return problem.has_bias ? "cudnnConvolutionBiasActivationForward" : "cudnnConvolutionForward";
}

// The bias of the gradient of the input lies in the result, to which cuDNN adds.
Status spread_bias(Stream& stream, const ConvArgs& args) noexcept {
  View bias = args.bias;
  bias.shape = args.input.shape;
  bias.strides = {0, args.bias.strides[0], 0, 0};
  return kConvertKernels.cast(stream, bias, args.input);
}

View copy_of(const View& view, DType dtype, void* memory) {
  return {.data = memory, .dtype = dtype, .shape = view.shape, .strides = contiguous_strides(view.shape)};
}

size_t bytes_of(const View& copy) { return rounded_up(static_cast<size_t>(copy.numel()) * size_of(copy.dtype)); }

size_t bytes_of_copies(const ConvArgs& args, ConvPass pass, const DnnCopies& copies) {
  size_t bytes = 0;
  for (int i = 0; i < copies.count; ++i) {
    bytes += bytes_of(copy_of(args.*copies.views[i], (args.*result_of(pass)).dtype, nullptr));
  }
  return bytes;
}

// Makes `args` refer to copies, which lie in `memory` one after the other.
Status copy_operands(Stream& stream, ConvPass pass, const DnnCopies& copies, char* memory, ConvArgs* args) noexcept {
  Status status;
  for (int i = 0; status.ok() && i < copies.count; ++i) {
    View& view = args->*copies.views[i];
    const View copy = copy_of(view, (args->*result_of(pass)).dtype, memory);
    status = kConvertKernels.cast(stream, view, copy);
    memory += bytes_of(copy);
    view = copy;
  }
  return status;
}

Status failure_of(const DnnHandle& handle, const DnnProblem& problem, DnnStatus status) noexcept {
  Status failed = Status::failure(Code::kDevice, "%s: status %d (%.120s)", function_of(problem),
                                  static_cast<int>(status), handle.text_of(status));
  failed.native_code = static_cast<int32_t>(status);
  return failed;
}

}  // namespace

DnnPlan dnn_plan(Stream& stream, ConvPass pass, const ConvArgs& args) noexcept {
  const DeviceState& device = device_of(stream);
  DnnPlan plan;
  if (!describe(pass, args, device.allows_tf32, &plan.problem, &plan.copies)) return plan;
  if (!device.dnn->choose(plan.problem, &plan.choice)) return plan;
  plan.workspace = bytes_of_copies(args, pass, plan.copies) + plan.choice.workspace;
  plan.is_used = plan.workspace <= device.dnn->most_workspace();
  return plan;
}

Status convolve_by_dnn(Stream& stream, const ConvArgs& given, const DnnPlan& plan, void* workspace,
                       bool* is_refused) noexcept {
  DnnHandle& handle = *device_of(stream).dnn;
  ConvArgs args = given;
  Status copied = copy_operands(stream, plan.problem.pass, plan.copies, static_cast<char*>(workspace), &args);
  if (copied.ok() && plan.problem.has_bias && plan.problem.pass == ConvPass::kGradInput) {
    copied = spread_bias(stream, args);
  }
  if (!copied.ok()) return copied;
  const DnnPointers pointers = {.input = args.input.data,
                                .weight = args.weight.data,
                                .output = args.output.data,
                                .bias = args.bias.data,
                                .workspace = static_cast<char*>(workspace) + plan.workspace - plan.choice.workspace};
  const DnnStatus status = handle.run(plan.problem, plan.choice, pointers, native(stream));
  if (status == DnnStatus::kSuccess) return {};
  *is_refused = !plan.choice.is_proven && is_refusal(status);
  return *is_refused ? Status{} : failure_of(handle, plan.problem, status);
}

}  // namespace halftone::cuda
