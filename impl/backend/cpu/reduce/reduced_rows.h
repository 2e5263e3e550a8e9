// A view seen as rows, each of the elements that a reduction makes one of. Used by reductions and their backward passes
// that walk row by row; safe from any thread.
#pragma once

#include "backend/view.h"

namespace halftone::cpu {

// The dimensions in which `in` and `out` have the same size, then the others: row-major order goes row by row.
struct ReducedRows {
  ReducedRows(const View& in, const View& out) noexcept : rows(out.numel()) {
    for (const bool reduced : {false, true}) {
      for (int i = 0; i < in.rank(); ++i) {
        if ((in.shape[i] != out.shape[i]) == reduced) order.push_back(i);
      }
    }
    for (int i = 0; i < in.rank(); ++i) length *= in.shape[i] != out.shape[i] ? in.shape[i] : 1;
  }

  // Of in, out, or a view with the shape of one of them.
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
