// Runs a test body once for every instruction set that was compiled and that this CPU has; under a sanitizer for one of
// them, which tests/rotation.h chooses. An emulated CPU is slow, so HALFTONE_TEST_INSTRUCTION_SET limits the tests to
// one set, by Highway's name. Changes global state of Highway: use it from one thread, while no kernel runs.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "hwy/targets.h"
#include "rotation.h"

namespace halftone {

inline bool is_wanted(int64_t target) {
  const char* const wanted = std::getenv("HALFTONE_TEST_INSTRUCTION_SET");
  return wanted == nullptr || std::strcmp(wanted, hwy::TargetName(target)) == 0;
}

// Highway's bits of the instruction sets to test, best first. Prints once which one the CPU lacks.
inline std::vector<int64_t> instruction_sets() {
  std::vector<int64_t> result;
  for (const int64_t target : {HWY_AVX3, HWY_AVX2, HWY_SCALAR}) {
    if (!is_wanted(target)) continue;
    if ((hwy::SupportedTargets() & target) != 0 || target == HWY_SCALAR) {
      result.push_back(target);
      continue;
    }
    static int64_t told = 0;
    if ((told & target) == 0) std::printf("skipped: this CPU has no %s\n", hwy::TargetName(target));
    told |= target;
  }
  return result;
}

template <class Body>
void on_instruction_sets(const std::vector<int64_t>& targets, Body&& body) {
  for (const int64_t target : targets) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();
    body();
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
  }
}

template <class Body>
void for_each_instruction_set(Body&& body) {
  on_instruction_sets(rotation_of_this_test().sample(instruction_sets(), 1), body);
}

}  // namespace halftone
