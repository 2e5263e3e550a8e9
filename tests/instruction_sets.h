// Runs a test body once for every instruction set that was compiled and that this CPU has. An emulated CPU is slow, so
// HALFTONE_TEST_INSTRUCTION_SET limits the tests to one set, by Highway's name. Changes global state of Highway: use it
// from one thread, while no kernel runs.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "hwy/targets.h"

namespace halftone {

inline bool is_wanted(int64_t target) {
  const char* const wanted = std::getenv("HALFTONE_TEST_INSTRUCTION_SET");
  return wanted == nullptr || std::strcmp(wanted, hwy::TargetName(target)) == 0;
}

template <class Body>
void for_each_instruction_set(Body&& body) {
  const int64_t compiled[] = {HWY_AVX3, HWY_AVX2, HWY_SCALAR};
  for (const int64_t target : compiled) {
    if (!is_wanted(target)) continue;
    if ((hwy::SupportedTargets() & target) == 0 && target != HWY_SCALAR) {
      static int64_t told = 0;
      if ((told & target) == 0) std::printf("skipped: this CPU has no %s\n", hwy::TargetName(target));
      told |= target;
      continue;
    }
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();
    body();
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
  }
}

}  // namespace halftone
