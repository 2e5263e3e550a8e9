#include "cuda/dnn/convolve.h"

#include "cuda/base/kernel_groups.h"

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
  plan.is_used =
      describe(pass, args, device.allows_tf32, &plan.problem) && device.dnn->choose(plan.problem, &plan.choice);
  return plan;
}

Status convolve_by_dnn(Stream& stream, const ConvArgs& args, const DnnPlan& plan, void* workspace,
                       bool* is_refused) noexcept {
  DnnHandle& handle = *device_of(stream).dnn;
  if (plan.problem.has_bias && plan.problem.pass == ConvPass::kGradInput) {
    if (Status status = spread_bias(stream, args); !status.ok()) return status;
  }
  const DnnPointers pointers = {.input = args.input.data,
                                .weight = args.weight.data,
                                .output = args.output.data,
                                .bias = args.bias.data,
                                .workspace = workspace};
  const DnnStatus status = handle.run(plan.problem, plan.choice, pointers, native(stream));
  if (status == DnnStatus::kSuccess) return {};
  *is_refused = !plan.choice.is_proven && is_refusal(status);
  return *is_refused ? Status{} : failure_of(handle, plan.problem, status);
}

}  // namespace halftone::cuda
