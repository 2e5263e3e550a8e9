// The table entries of the convolution.
#include "cpu/conv/passes.h"
#include "cpu/device.h"
#include "cpu/kernel_groups.h"

namespace halftone::cpu {
namespace {

size_t workspace(Stream& stream, ConvPass pass, const ConvArgs& args) noexcept {
  const Operands operands(args, rounds_to_tf32(stream));
  switch (pass) {
    case ConvPass::kForward:
      return conv_forward_workspace(stream, operands);
    case ConvPass::kGradInput:
      return conv_grad_input_workspace(stream, operands);
    case ConvPass::kGradWeight:
      return conv_grad_weight_workspace(stream, operands);
  }
  return 0;
}

Status run(Stream& stream, ConvPass pass, const ConvArgs& args, void* workspace) noexcept {
  const Operands operands(args, rounds_to_tf32(stream));
  switch (pass) {
    case ConvPass::kForward:
      conv_forward(stream, operands, workspace);
      return {};
    case ConvPass::kGradInput:
      conv_grad_input(stream, operands, workspace);
      return {};
    case ConvPass::kGradWeight:
      return conv_grad_weight(stream, operands, workspace);
  }
  return {};
}

}  // namespace

constexpr ConvKernels kConvKernels = {.workspace = workspace, .run = run};

}  // namespace halftone::cpu
