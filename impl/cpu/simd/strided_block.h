// Elements at a stride, copied to and from a small contiguous block as they are. Used where tiles meet memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace halftone::cpu {

// How many elements are moved at a time.
inline constexpr int64_t kBlockElements = 64;

// out[i * out_stride] = in[i * in_stride], strides in elements of Word. Moved as bytes: the elements' own type is
// another.
template <class Word>
inline void copy_words(const std::byte* in, int64_t in_stride, std::byte* out, int64_t out_stride, int64_t count) {
  constexpr int64_t size = sizeof(Word);
  for (int64_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, in + i * in_stride * size, sizeof word);
    std::memcpy(out + i * out_stride * size, &word, sizeof word);
  }
}

// Copies elements of 1, 2, 4 or 8 bytes, at strides in elements.
inline void copy_elements(size_t size, const std::byte* in, int64_t in_stride, std::byte* out, int64_t out_stride,
                          int64_t count) {
  if (size == 1) return copy_words<uint8_t>(in, in_stride, out, out_stride, count);
  if (size == 2) return copy_words<uint16_t>(in, in_stride, out, out_stride, count);
  if (size == 4) return copy_words<uint32_t>(in, in_stride, out, out_stride, count);
  copy_words<uint64_t>(in, in_stride, out, out_stride, count);
}

}  // namespace halftone::cpu
