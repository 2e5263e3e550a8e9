// ConvertKernels::abs_max, quantize and quantize_scale.
#pragma once

#include "backend/device.h"
#include "backend/view.h"

namespace halftone::cuda {

Status abs_max(Stream& stream, const View& in, const View& out) noexcept;
Status quantize(Stream& stream, const View& in, const View& scale, const View& amax, const View& out) noexcept;
Status quantize_scale(Stream& stream, const View& amax, double largest, const View& out) noexcept;

}  // namespace halftone::cuda
