// Whether BF16 times BF16 goes by dot products: decided once per process, by measuring, so that results do not change
// within a run. Any thread.
#pragma once

#include "backend/kernels/gemm.h"

namespace halftone::cpu {

enum class DotUse { kWhereFaster, kNever, kAlways };

// For tests and benchmarks; while no GEMM runs. kAlways needs has_dot().
void set_dot_use_for_test(DotUse use) noexcept;

// a and b are BF16, and dot products are there and faster, or asked for. The caller knows that its instruction set is
// the one dot.h's tiles are made for.
bool multiplies_by_dot(const GemmArgs& args) noexcept;

}  // namespace halftone::cpu
