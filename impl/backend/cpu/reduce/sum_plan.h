// How a sum walks its input: which dimensions are summed, in which order, and how the outputs are grouped into strips.
// Depends on shapes and strides alone. Pure host code; a plan is immutable, so threads share one.
#pragma once

#include <cstdint>

#include "backend/cpu/simd/layout.h"
#include "backend/view.h"

namespace halftone::cpu {

// Neighbouring outputs that one thread computes together; offsets and strides in elements.
struct Strip {
  int64_t in_offset;
  int64_t in_stride;
  int64_t out_offset;
  int64_t out_stride;
  int64_t width;
};

class SumPlan {
 public:
  // REQUIRES: ranks are equal; out has in's size or 1 in every dimension. `strip_width` bounds the width of strips.
  SumPlan(const View& in, const View& out, int64_t strip_width) noexcept;

  // The terms of the output at offset 0, in the order of summation.
  const Layout& terms() const noexcept { return terms_; }
  int64_t term_count() const noexcept { return term_count_; }
  int64_t strip_count() const noexcept { return outer_count_ * strips_per_row_; }
  Strip strip(int64_t index) const noexcept;
  // Whether a strip's outputs are summed side by side, because their columns lie closer together than one column's
  // terms or the terms are few, rather than one after the other.
  bool by_columns() const noexcept { return by_columns_; }

 private:
  struct Axis {
    int64_t size;
    int64_t in_stride;
    int64_t out_stride;
  };
  // Axes from the widest stride of the input to the narrowest, so that memory is read in order.
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
  Axes outer_;  // of the kept axes all but the last
  Axis inner_;  // the last
  int64_t outer_count_ = 1;
  int64_t strip_width_;
  int64_t strips_per_row_;
  bool by_columns_;
};

}  // namespace halftone::cpu
