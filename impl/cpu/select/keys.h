// Elements as keys whose unsigned order is the order of the elements, and keys with the index of their element. No two
// entries of a line are equal, so every way of sorting them gives one order, and that order is stable. Pure functions,
// any thread.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "core/type_list.h"

namespace halftone::cpu {

// Cases: NaN of either sign is the largest key; -0 and 0 have one key.
inline uint32_t key_of(float value) {
  if (value != value) return UINT32_MAX;
  const uint32_t bits = std::bit_cast<uint32_t>(value == 0.0f ? 0.0f : value);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
}
inline uint64_t key_of(double value) {
  if (value != value) return UINT64_MAX;
  const uint64_t bits = std::bit_cast<uint64_t>(value == 0.0 ? 0.0 : value);
  return (bits >> 63) != 0 ? ~bits : bits | uint64_t{1} << 63;
}
inline uint32_t key_of(Float16 value) { return key_of(static_cast<float>(value)); }
inline uint32_t key_of(BFloat16 value) { return key_of(static_cast<float>(value)); }
inline uint64_t key_of(int64_t value) {
  return static_cast<uint64_t>(value) ^ uint64_t { 1 } << 63;
}
template <class T>
requires(std::is_integral_v<T> && sizeof(T) <= 4) uint32_t key_of(T value) {
  return static_cast<uint32_t>(static_cast<int32_t>(value)) ^ 0x80000000u;
}

// The types that have keys.
using OrderedTypes = TypeList<double, float, Float16, BFloat16, int64_t, int32_t, int16_t, int8_t, uint8_t, bool>;

// For keys of 32 bits and lines of fewer than 2^32 elements: one comparison of 64 bits.
struct NarrowEntry {
  uint64_t word;

  NarrowEntry() = default;
  NarrowEntry(uint32_t key, int64_t index) : word(uint64_t{key} << 32 | static_cast<uint64_t>(index)) {}
  int64_t index() const { return static_cast<int64_t>(word & UINT32_MAX); }
  friend bool operator<(NarrowEntry a, NarrowEntry b) { return a.word < b.word; }
};

struct WideEntry {
  uint64_t key;
  int64_t place;

  WideEntry() = default;
  WideEntry(uint64_t its_key, int64_t index) : key(its_key), place(index) {}
  int64_t index() const { return place; }
  friend bool operator<(const WideEntry& a, const WideEntry& b) {
    return a.key != b.key ? a.key < b.key : a.place < b.place;
  }
};

// True if entries of lines of this dtype and length are narrow.
constexpr bool has_narrow_entries(DType dtype, int64_t length) {
  return size_of(dtype) <= 4 && length <= int64_t{UINT32_MAX};
}

}  // namespace halftone::cpu
