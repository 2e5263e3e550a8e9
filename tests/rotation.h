// The share of a product of cases that a test runs. A sanitizer makes an operation five to ten times slower, so under
// one each operation is run on one instruction set, on two dtypes and in two layouts. HALFTONE_TEST_ROTATION, a number,
// decides on which; tests/run takes it from the commit, so that successive commits see all of them. Builds without a
// sanitizer run the full product, and HALFTONE_TEST_ROTATION=full asks for it anywhere. Used from one thread.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "sanitizers.h"

namespace halftone {

class Rotation {
 public:
  Rotation(uint64_t turn, bool is_full) : turn_(turn), is_full_(is_full) {}
  // Cases with different keys are at different places of the rotation.
  static Rotation of_this_run(uint64_t key) {
    const char* const wanted = std::getenv("HALFTONE_TEST_ROTATION");
    const bool is_full = !kAnySanitizer || (wanted != nullptr && std::strcmp(wanted, "full") == 0);
    return {key + (wanted == nullptr ? 0 : std::strtoull(wanted, nullptr, 10)), is_full};
  }

  // At most `most` neighbours of the list, which is treated as a ring; all of it where the product is full.
  template <class T>
  std::vector<T> sample(const std::vector<T>& list, size_t most) const {
    if (is_full_ || list.size() <= most) return list;
    std::vector<T> result;
    for (size_t i = 0; i < most; ++i) result.push_back(list[(turn_ + i) % list.size()]);
    return result;
  }

  bool is_full() const { return is_full_; }
  // Returns true for one in `share` of the numbers, and for each where the product is full.
  bool takes(uint64_t number, uint64_t share) const { return is_full_ || (turn_ + number) % share == 0; }

 private:
  uint64_t turn_;
  bool is_full_;
};

// How many of an operation's dtypes a case runs on, where the product is not full.
inline constexpr size_t kDtypesInRotation = 2;

// Tests take their turns by their names.
inline Rotation rotation_of_this_test() {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  return Rotation::of_this_run(std::hash<std::string>()(std::string(test->test_suite_name()) + test->name()));
}

}  // namespace halftone
