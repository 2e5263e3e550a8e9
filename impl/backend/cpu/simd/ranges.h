// How elementwise work is cut for the pool: by the number of elements alone. Every element is computed on its own, so
// the cuts do not show in the result.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/chunks.h"
#include "backend/thread_pool.h"

namespace halftone::cpu {

// Work of up to this many elements costs about 5 us or less and stays on the caller's thread.
inline constexpr int64_t kInlineSize = 2 * kChunkSize;

// Calls f(begin, end) for pieces of [0, count).
template <class F>
void for_each_range(ThreadPool& pool, int64_t count, F&& f) noexcept {
  if (count <= kInlineSize) {
    if (count > 0) f(int64_t{0}, count);
    return;
  }
  pool.parallel_for((count + kChunkSize - 1) / kChunkSize,
                    [&](int64_t chunk, int) { f(chunk * kChunkSize, std::min((chunk + 1) * kChunkSize, count)); });
}

}  // namespace halftone::cpu
