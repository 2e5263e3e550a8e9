// Views a tensor as rows along one dimension, and cuts rows for the pool. Used by the softmax family; safe from any
// thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/view.h"
#include "cpu/threads/thread_pool.h"

namespace halftone::cpu {

// The view with `dim` moved to the end: row-major order then runs row by row.
inline View with_last(const View& view, int dim) {
  View rows = view;
  for (int i = dim; i + 1 < view.rank(); ++i) {
    rows.shape[i] = view.shape[i + 1];
    rows.strides[i] = view.strides[i + 1];
  }
  if (view.rank() > 0) {
    rows.shape[view.rank() - 1] = view.shape[dim];
    rows.strides[view.rank() - 1] = view.strides[dim];
  }
  return rows;
}

// True if an element has the same offset in both views. REQUIRES: equal shapes.
inline bool have_same_strides(const View& a, const View& b) {
  for (int i = 0; i < a.rank(); ++i) {
    if (a.shape[i] > 1 && a.strides[i] != b.strides[i]) return false;
  }
  return true;
}

// Elements with one exponential each that one thread takes at a time: about 5 us.
inline constexpr int64_t kRowWork = 8192;

// Calls f(begin, end) for pieces of [0, rows), cut by shape alone; a row is never cut.
template <class F>
void for_each_row_range(ThreadPool& pool, int64_t rows, int64_t length, F&& f) noexcept {
  const int64_t step = std::max<int64_t>(1, kRowWork / std::max<int64_t>(1, length));
  pool.parallel_for((rows + step - 1) / step,
                    [&](int64_t chunk, int) { f(chunk * step, std::min((chunk + 1) * step, rows)); });
}

}  // namespace halftone::cpu
