// Convolutions that read their operands out of the images.
#pragma once

#include "backend/kernels/conv.h"

namespace halftone::cuda {

// As the entries of ConvKernels.
size_t direct_workspace(Stream& stream, ConvPass pass, const ConvArgs& args) noexcept;
Status convolve_directly(Stream& stream, ConvPass pass, const ConvArgs& args, void* workspace) noexcept;

}  // namespace halftone::cuda
