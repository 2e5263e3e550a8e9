// Convolutions as matrix products of columns, one tile of positions after the other.
#pragma once

#include "backend/kernels/conv.h"
#include "cuda/conv/plan.h"

namespace halftone::cuda {

// As the entries of ConvKernels. REQUIRES: plan.is_used.
size_t product_workspace(Stream& stream, ConvPass pass, const ConvArgs& args, const ColumnPlan& plan) noexcept;
Status convolve_by_products(Stream& stream, ConvPass pass, const ConvArgs& args, const ColumnPlan& plan,
                            void* workspace) noexcept;

}  // namespace halftone::cuda
