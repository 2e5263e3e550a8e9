// ConvertKernels::round_to.
#pragma once

#include "backend/kernels/convert.h"

namespace halftone::cpu {

Status round_to(Stream& stream, const View& in, const FormatRounding& rule, const View& out) noexcept;

}  // namespace halftone::cpu
