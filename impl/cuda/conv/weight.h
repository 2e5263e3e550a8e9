// The end of the gradient of a convolution's weight.
#pragma once

#include "backend/kernels/conv.h"

namespace halftone::cuda {

// Stores the sum of `count` parts to args.weight, or adds it. parts: [count, groups * o, c, kh, kw] in the compute
// type, contiguous; they are added in order.
Status store_weight(Stream& stream, const ConvArgs& args, const void* parts, int64_t count) noexcept;

}  // namespace halftone::cuda
