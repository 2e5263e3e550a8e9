// ConvertKernels::arange.
#pragma once

#include "backend/device.h"
#include "backend/view.h"

namespace halftone::cpu {

Status arange(Stream& stream, double start, double step, const View& out) noexcept;

}  // namespace halftone::cpu
