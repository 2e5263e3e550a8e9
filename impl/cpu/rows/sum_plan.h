// The order in which a sum reads its input: the summed dimensions, their order, and strips of outputs. Depends on
// shapes and strides alone. Pure host code; a plan is immutable, so threads share one.
#pragma once

#include <cstdint>

#include "backend/view.h"
#include "cpu/simd/layout.h"

namespace halftone::cpu {

// Adjacent outputs that one thread computes together; offsets and strides in elements.
struct Strip {
  int64_t in_offset;
  int64_t in_stride;
  int64_t out_offset;
  int64_t out_stride;
  int64_t width;
};

class SumPlan {
 public:
  // REQUIRES: equal ranks; each size of out is in's or 1. No strip is wider than `strip_width`.
  SumPlan(const View& in, const View& out, int64_t strip_width) noexcept;

  // The terms of the output at offset 0, in the order of summation.
  const Layout& terms() const noexcept { return terms_; }
  int64_t term_count() const noexcept { return term_count_; }
  int64_t strip_count() const noexcept { return outer_count_ * strips_per_row_; }
  Strip strip(int64_t index) const noexcept;
  // True if a strip's outputs are summed together, not one after the other: their columns are closer together than one
  // column's terms, or the terms are few.
  bool by_columns() const noexcept { return by_columns_; }

 private:
  struct Axis {
    int64_t size;
    int64_t in_stride;
    int64_t out_stride;
  };
  // Axes from the largest stride of the input to the smallest, so that memory is read in order.
  struct Axes {
    Axis axes[kMaxRank];
    int rank = 0;
    void insert(const Axis& axis) noexcept;
    void merge() noexcept;
  };

  static Axes axes_of(const View& in, const View& out, bool summed) noexcept;
  static Layout terms_of(const View& in, const Axes& summed) noexcept;
  SumPlan(const View& in, const Axes& summed, const Axes& kept, int64_t strip_width) noexcept;

  Layout terms_;
  int64_t term_count_ = 1;
  Axes outer_;  // the kept axes except the last
  Axis inner_;  // the last kept axis
  int64_t outer_count_ = 1;
  int64_t strip_width_;
  int64_t strips_per_row_;
  bool by_columns_;
};

}  // namespace halftone::cpu
