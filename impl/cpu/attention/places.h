// Positions in attention's views and scores. Plain data, any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backend/view.h"
#include "cpu/simd/layout.h"

namespace halftone::cpu {

// The matrix of one head: `batch` counts the leading dimensions in row-major order.
inline View head_of(const View& view, int64_t batch, int64_t head) {
  const int last = view.rank() - 1;
  int64_t offset = head * view.strides[last - 2];
  for (int i = last - 3; i >= 0; --i) {
    offset += batch % view.shape[i] * view.strides[i];
    batch /= view.shape[i];
  }
  return {.data = static_cast<std::byte*>(view.data) + offset * static_cast<int64_t>(size_of(view.dtype)),
          .dtype = view.dtype,
          .shape = {view.shape[last - 1], view.shape[last]},
          .strides = {view.strides[last - 1], view.strides[last]}};
}

// The heads that share elements of a view: those that differ only in leading dimensions of stride 0. Heads of all
// batches are numbered in row-major order.
class SharedHeads {
 public:
  explicit SharedHeads(const View& view) : view_(view) {
    for (int i = 0; i < view.rank() - 2; ++i) (view.strides[i] == 0 ? members_ : groups_) *= view.shape[i];
  }
  int64_t groups() const { return groups_; }
  int64_t members() const { return members_; }
  int64_t number_of(int64_t group, int64_t member) const {
    int64_t number = 0;
    int64_t step = 1;
    for (int i = view_.rank() - 3; i >= 0; --i) {
      int64_t& rest = view_.strides[i] == 0 ? member : group;
      number += rest % view_.shape[i] * step;
      rest /= view_.shape[i];
      step *= view_.shape[i];
    }
    return number;
  }

 private:
  const View& view_;
  int64_t groups_ = 1;
  int64_t members_ = 1;
};

// Row `row` of a matrix, from `column` on.
inline Strided row_at(const View& matrix, int64_t row, int64_t column = 0) {
  const int64_t offset = row * matrix.strides[0] + column * matrix.strides[1];
  return {static_cast<std::byte*>(matrix.data) + offset * static_cast<int64_t>(size_of(matrix.dtype)), matrix.dtype,
          matrix.strides[1]};
}

// A block of one head's scores: queries [query, query + rows) and keys [key, key + columns).
struct ScoreBlock {
  int64_t batch;
  int64_t head;
  int64_t query;
  int64_t rows;
  int64_t key;
  int64_t columns;
};

// Which of a block's scores count. Rows and columns are counted from the block's beginning.
class Visible {
 public:
  Visible(const ScoreBlock& block, bool is_causal, int64_t causal_offset)
      : rows_(block.rows),
        columns_(block.columns),
        is_causal_(is_causal),
        diagonal_(block.query + causal_offset - block.key) {}

  // A row sees the columns below this one.
  int64_t columns_of(int64_t row) const {
    return is_causal_ ? std::clamp<int64_t>(row + diagonal_ + 1, 0, columns_) : columns_;
  }
  // Rows from this one on see the column.
  int64_t first_row_of(int64_t column) const {
    return is_causal_ ? std::clamp<int64_t>(column - diagonal_, 0, rows_) : 0;
  }
  bool any() const { return columns_of(rows_ - 1) > 0; }

 private:
  int64_t rows_;
  int64_t columns_;
  bool is_causal_;
  int64_t diagonal_;  // row r sees column r + diagonal_ as its last
};

}  // namespace halftone::cpu
