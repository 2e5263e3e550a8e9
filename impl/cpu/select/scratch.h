// The size of scratch memory for tensors whose elements may repeat, which can be longer than any memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace halftone::cpu {

// count * copies * bytes, or the largest size, which no allocator has, if the product exceeds 64 bits.
inline size_t scratch_bytes(int64_t count, int64_t copies, size_t bytes) {
  size_t size = 0;
  const bool exceeds = __builtin_mul_overflow(count, copies, &size) || __builtin_mul_overflow(size, bytes, &size);
  return exceeds ? SIZE_MAX : size;
}

}  // namespace halftone::cpu
