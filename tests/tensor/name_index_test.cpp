#include "tensor/name_index.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace halftone {
namespace {

constexpr size_t kNames = 1000;

// Names with equal positions in any table of up to 4096 entries: an attacker who knows the key could put them into a
// file.
std::vector<std::string> colliding_names(HashKey key) {
  std::vector<std::string> names;
  for (uint64_t i = 0; names.size() < kNames; ++i) {
    const std::string name = "layer." + std::to_string(i);
    if (keyed_hash(key, name) % 4096 == 0) names.push_back(name);
  }
  return names;
}

// Counts name comparisons while every name is looked up and added.
size_t comparisons(NameIndex index, const std::vector<std::string>& names) {
  size_t count = 0;
  for (uint32_t number = 0; number < names.size(); ++number) {
    const auto is_named = [&](uint32_t other, std::string_view name) {
      ++count;
      return names[other] == name;
    };
    EXPECT_EQ(index.find(names[number], is_named), nullptr);
    index.prepare_add([&](uint32_t other) -> std::string_view { return names[other]; });
    index.add(names[number], number);
    EXPECT_NE(index.find(names[number], is_named), nullptr);
  }
  return count;
}

// F27
TEST(NameIndex, F27_NamesThatCollideUnderOneKeyDoNotUnderAnother) {
  const HashKey known = {.low = 1, .high = 2};
  const std::vector<std::string> names = colliding_names(known);
  EXPECT_GE(comparisons(NameIndex(known), names), kNames * kNames / 2);
  EXPECT_LE(comparisons(NameIndex(HashKey{.low = 3, .high = 2}), names), 10 * kNames);
}

// Names made for the zero key do not collide either.
TEST(NameIndex, F27_TheKeyThatIsUsedIsNoneThatAnAuthorOfFilesKnows) {
  EXPECT_LE(comparisons(NameIndex(), colliding_names({})), 10 * kNames);
}

}  // namespace
}  // namespace halftone
