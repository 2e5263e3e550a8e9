// Functions of the table kResampleKernels, documented there, that have a source of their own. Safe from any thread.
#pragma once

#include "backend/kernels/resample.h"

namespace halftone::cuda {

Status grid_sample(Stream& stream, const GridSampleArgs& args) noexcept;
Status grid_sample_backward(Stream& stream, const GridSampleArgs& args) noexcept;
Status grid_backward(Stream& stream, const GridSampleArgs& args, const View& grad_grid) noexcept;

}  // namespace halftone::cuda
