// How elementwise work is cut for the pool: by the number of elements alone. Every element is computed on its own, so
// the result does not depend on the cuts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/chunks.h"
#include "cpu/threads/thread_pool.h"

namespace halftone::cpu {

// Work of up to this many elements costs about 5 us or less and stays on the caller's thread.
inline constexpr int64_t kInlineSize = 2 * kChunkSize;

// Calls f(begin, end) for pieces of [0, count), each of `grain` items; `grain` items are the work of kChunkSize
// elements.
template <class F>
void for_each_range(ThreadPool& pool, int64_t count, int64_t grain, F&& f) noexcept {
  if (count <= 2 * grain) {
    if (count > 0) f(int64_t{0}, count);
    return;
  }
  pool.parallel_for((count + grain - 1) / grain,
                    [&](int64_t chunk, int) { f(chunk * grain, std::min((chunk + 1) * grain, count)); });
}

// Calls f for pieces of kChunkSize elements: for cheap work.
template <class F>
void for_each_range(ThreadPool& pool, int64_t count, F&& f) noexcept {
  for_each_range(pool, count, kChunkSize, f);
}

}  // namespace halftone::cpu
