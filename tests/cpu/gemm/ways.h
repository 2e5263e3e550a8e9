// Runs the body of a GEMM test in every way in which this CPU multiplies. Used from one thread, while no kernel runs.
#pragma once

#include <cstdio>

#include "cpu/gemm/dot.h"
#include "cpu/gemm/dot_choice.h"
#include "instruction_sets.h"

namespace halftone {

// Runs `body` on every instruction set without dot products of BF16 pairs, then with them if this CPU has them.
template <class Body>
void for_each_way(Body&& body) {
  cpu::set_dot_use_for_test(cpu::DotUse::kNever);
  for_each_instruction_set(body);
  if ((hwy::SupportedTargets() & HWY_AVX3) != 0 && cpu::has_dot()) {
    SCOPED_TRACE("dot products");
    cpu::set_dot_use_for_test(cpu::DotUse::kAlways);
    body();
  } else {
    std::printf("skipped: this CPU has no dot products of BF16 pairs\n");
  }
  cpu::set_dot_use_for_test(cpu::DotUse::kWhereFaster);
}

}  // namespace halftone
