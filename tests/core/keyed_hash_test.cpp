#include "core/keyed_hash.h"

#include <gtest/gtest.h>

#include <string>

namespace halftone {
namespace {

// The key and the texts of the test vectors: the bytes 00, 01, 02 and so on.
constexpr HashKey kCountedKey = {.low = 0x0706050403020100, .high = 0x0f0e0d0c0b0a0908};

std::string counted(size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) text += static_cast<char>(i);
  return text;
}

// The example in appendix A of the paper.
TEST(KeyedHash, IsSipHash24) { EXPECT_EQ(keyed_hash(kCountedKey, counted(15)), 0xa129ca6149be45e5u); }

TEST(KeyedHash, TellsTextsOfZerosApartByTheirLengths) {
  for (size_t size = 0; size < 20; ++size) {
    EXPECT_NE(keyed_hash({}, std::string(size, '\0')), keyed_hash({}, std::string(size + 1, '\0'))) << size;
  }
}

TEST(KeyedHash, DependsOnBothHalvesOfItsKey) {
  const uint64_t hash = keyed_hash(kCountedKey, "name");
  EXPECT_NE(hash, keyed_hash({.low = kCountedKey.low ^ 1, .high = kCountedKey.high}, "name"));
  EXPECT_NE(hash, keyed_hash({.low = kCountedKey.low, .high = kCountedKey.high ^ 1}, "name"));
}

TEST(KeyedHash, TheKeyOfAProcessStaysTheSameAndIsNotZero) {
  const HashKey key = process_hash_key();
  EXPECT_NE(key.low, 0u);
  EXPECT_NE(key.high, 0u);
  EXPECT_EQ(key.low, process_hash_key().low);
  EXPECT_EQ(key.high, process_hash_key().high);
}

}  // namespace
}  // namespace halftone
