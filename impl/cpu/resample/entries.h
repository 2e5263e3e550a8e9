// The functions of the table kResampleKernels, documented there. Safe from any thread.
#pragma once

#include "backend/kernels/resample.h"

namespace halftone::cpu {

Status resample(Stream& stream, const ResampleArgs& args) noexcept;
Status resample_backward(Stream& stream, const ResampleArgs& args) noexcept;
// REQUIRES: the mode is kCubic.
Status resample_cubic(Stream& stream, const ResampleArgs& args) noexcept;
Status resample_cubic_backward(Stream& stream, const ResampleArgs& args) noexcept;
Status grid_sample(Stream& stream, const GridSampleArgs& args) noexcept;
Status grid_sample_backward(Stream& stream, const GridSampleArgs& args) noexcept;
Status grid_backward(Stream& stream, const GridSampleArgs& args, const View& grad_grid) noexcept;

}  // namespace halftone::cpu
