// Elements at a stride, copied to and from a small contiguous block as they are. Used where tiles meet memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace halftone::cpu {

// How many elements are moved at a time.
inline constexpr int64_t kBlockElements = 64;

// out[i * out_stride] = in[i * in_stride], strides in elements of Word.
template <class Word>
inline void copy_words(const std::byte* in, int64_t in_stride, std::byte* out, int64_t out_stride, int64_t count) {
  const Word* from = reinterpret_cast<const Word*>(in);
  Word* to = reinterpret_cast<Word*>(out);
  for (int64_t i = 0; i < count; ++i) to[i * out_stride] = from[i * in_stride];
}

// As above for elements of 1, 2, 4 or 8 bytes.
inline void copy_elements(size_t size, const std::byte* in, int64_t in_stride, std::byte* out, int64_t out_stride,
                          int64_t count) {
  if (size == 1) return copy_words<uint8_t>(in, in_stride, out, out_stride, count);
  if (size == 2) return copy_words<uint16_t>(in, in_stride, out, out_stride, count);
  if (size == 4) return copy_words<uint32_t>(in, in_stride, out, out_stride, count);
  copy_words<uint64_t>(in, in_stride, out, out_stride, count);
}

}  // namespace halftone::cpu
