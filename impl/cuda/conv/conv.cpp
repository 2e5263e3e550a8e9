// The table entries of the convolution: cuDNN where it computes it, else products of columns where the plan says so,
// else loops.
#include <algorithm>

#include "cuda/base/kernel_groups.h"
#include "cuda/base/stream.h"
#include "cuda/conv/direct.h"
#include "cuda/conv/products.h"
#include "cuda/dnn/convolve.h"

namespace halftone::cuda {
namespace {

size_t own_workspace(Stream& stream, ConvPass pass, const ConvArgs& args) noexcept {
  const ColumnPlan plan = column_plan(device_of(stream).multiprocessors, pass, args);
  return plan.is_used ? product_workspace(stream, pass, args, plan) : direct_workspace(stream, pass, args);
}

Status run_own(Stream& stream, ConvPass pass, const ConvArgs& args, void* workspace) noexcept {
  const ColumnPlan plan = column_plan(device_of(stream).multiprocessors, pass, args);
  if (plan.is_used) return convolve_by_products(stream, pass, args, plan, workspace);
  return convolve_directly(stream, pass, args, workspace);
}

// Products that need no columns read any dtype and most strides, so no copies are made for cuDNN in their place.
DnnPlan plan_of_dnn(Stream& stream, ConvPass pass, const ConvArgs& args) noexcept {
  DnnPlan plan = dnn_plan(stream, pass, args);
  plan.is_used &= plan.copies.count == 0 || !has_input_as_columns(args);
  return plan;
}

// Until a convolution of cuDNN has succeeded once, its workspace serves the other ways, too.
size_t workspace(Stream& stream, ConvPass pass, const ConvArgs& args) noexcept {
  const DnnPlan plan = plan_of_dnn(stream, pass, args);
  if (!plan.is_used) return own_workspace(stream, pass, args);
  return plan.choice.is_proven ? plan.workspace : std::max(plan.workspace, own_workspace(stream, pass, args));
}

Status run(Stream& stream, ConvPass pass, const ConvArgs& args, void* workspace) noexcept {
  const DnnPlan plan = plan_of_dnn(stream, pass, args);
  bool is_refused = !plan.is_used;
  const Status status = is_refused ? Status{} : convolve_by_dnn(stream, args, plan, workspace, &is_refused);
  return is_refused ? run_own(stream, pass, args, workspace) : status;
}

}  // namespace

const ConvKernels kConvKernels = {
    .workspace = workspace,
    .run = run,
};

}  // namespace halftone::cuda
