// The table entries of the convolution: products of columns where the plan says so, else loops.
#include "cuda/base/kernel_groups.h"
#include "cuda/base/stream.h"
#include "cuda/conv/direct.h"
#include "cuda/conv/products.h"

namespace halftone::cuda {
namespace {

size_t workspace(Stream& stream, ConvPass pass, const ConvArgs& args) noexcept {
  const ColumnPlan plan = column_plan(device_of(stream).multiprocessors, pass, args);
  return plan.is_used ? product_workspace(stream, pass, args, plan) : direct_workspace(stream, pass, args);
}

Status run(Stream& stream, ConvPass pass, const ConvArgs& args, void* workspace) noexcept {
  const ColumnPlan plan = column_plan(device_of(stream).multiprocessors, pass, args);
  if (plan.is_used) return convolve_by_products(stream, pass, args, plan, workspace);
  return convolve_directly(stream, pass, args, workspace);
}

}  // namespace

const ConvKernels kConvKernels = {
    .workspace = workspace,
    .run = run,
};

}  // namespace halftone::cuda
