// ConvertKernels::fill.
#pragma once

#include "backend/device.h"
#include "backend/view.h"

namespace halftone::cpu {

Status fill(Stream& stream, double value, const View& out) noexcept;

}  // namespace halftone::cpu
