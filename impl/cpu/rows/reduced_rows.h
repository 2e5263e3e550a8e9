// Views a tensor as rows, each with the elements that a reduction combines to one. Used by reductions and backward
// passes that work row by row; safe from any thread.
#pragma once

#include "backend/view.h"

namespace halftone::cpu {

// Orders the kept dimensions (equal sizes in `in` and `out`) before the reduced ones: row-major order then runs row by
// row.
struct ReducedRows {
  ReducedRows(const View& in, const View& out) noexcept : rows(out.numel()) {
    for (const bool reduced : {false, true}) {
      for (int i = 0; i < in.rank(); ++i) {
        if ((in.shape[i] != out.shape[i]) == reduced) order.push_back(i);
      }
    }
    for (int i = 0; i < in.rank(); ++i) length *= in.shape[i] != out.shape[i] ? in.shape[i] : 1;
  }

  // Reorders `view`, which is in, out, or has the shape of one of them.
  View of(const View& view) const noexcept {
    View result = {view.data, view.dtype, {}, {}};
    for (const int64_t dim : order) {
      result.shape.push_back(view.shape[static_cast<int>(dim)]);
      result.strides.push_back(view.strides[static_cast<int>(dim)]);
    }
    return result;
  }

  Shape order;
  int64_t rows;
  int64_t length = 1;
};

}  // namespace halftone::cpu
