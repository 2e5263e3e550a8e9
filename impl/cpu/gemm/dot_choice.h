// Decides if products of BF16, or of codes that BF16 holds, use dot products. Measured once per process, so that
// results do not change within a run. Any thread.
#pragma once

#include "backend/kernels/gemm.h"

namespace halftone::cpu {

enum class DotUse { kWhereFaster, kNever, kAlways };

// For tests and benchmarks, while no GEMM runs. kAlways needs has_dot().
void set_dot_use_for_test(DotUse use) noexcept;

// True if dot products are faster or forced.
bool uses_dot() noexcept;

// True if uses_dot(), and BF16 holds a and b. The caller checks that its instruction set matches
// the tiles of dot.h.
bool multiplies_by_dot(const GemmArgs& args) noexcept;

}  // namespace halftone::cpu
