// How the elements of a view, counted in row-major order, lie in memory: dimensions of size 1 dropped, dimensions that
// continue each other merged. Kernels walk any view as a sequence of runs, each with one stride. Immutable, so threads
// share one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/view.h"

namespace halftone::cpu {

// Elements at equal distances. `data` of an input is only read.
struct Strided {
  std::byte* data;
  DType dtype;
  int64_t stride;  // in elements; 0 repeats one element
};

class Layout {
 public:
  explicit Layout(const View& view) noexcept;

  DType dtype() const noexcept { return dtype_; }
  // Row-major order without gaps: element i lies at index i.
  bool is_dense() const noexcept { return rank_ == 1 && strides_[0] == 1; }
  // One element, repeated.
  bool is_constant() const noexcept { return rank_ == 1 && strides_[0] == 0; }
  // REQUIRES: is_dense()
  template <class T>
  T* elements() const noexcept {
    return static_cast<T*>(static_cast<void*>(data_));
  }

  struct Run {
    Strided elements;
    int64_t count;
  };
  // The longest run that begins at element `index`, of at most `limit` elements.
  Run run_at(int64_t index, int64_t limit) const noexcept;

  // Calls f(Strided, offset, count) for the runs of [begin, begin + count), `offset` counted from `begin`.
  template <class F>
  void for_each_run(int64_t begin, int64_t count, F&& f) const {
    for (int64_t done = 0; done < count;) {
      const Run run = run_at(begin + done, count - done);
      f(run.elements, done, run.count);
      done += run.count;
    }
  }

 private:
  std::byte* data_;
  DType dtype_;
  int rank_ = 0;  // at least 1 once constructed
  int64_t sizes_[kMaxRank];
  int64_t strides_[kMaxRank];
};

}  // namespace halftone::cpu
