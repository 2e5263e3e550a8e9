// Moving elements as they are, where source and destination have one dtype.
#pragma once

#include "backend/cpu/simd/layout.h"

namespace halftone::cpu {

// Elements [begin, end), counted in row-major order. REQUIRES: in.dtype() == out.dtype().
void copy_range(const Layout& in, const Layout& out, int64_t begin, int64_t end) noexcept;

}  // namespace halftone::cpu
