// How a matrix is cut: into bands of whole blocks, which threads take, and these into panels that fit L1. Each band is
// computed on its own, so the result does not depend on the cuts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/chunks.h"
#include "backend/kernels/scaled.h"

namespace halftone::cpu {

// The most elements of a panel: 16 KiB of FP32.
inline constexpr int64_t kPanelSize = 4096;

// A rectangle of elements.
struct Rectangle {
  int64_t row = 0;
  int64_t column = 0;
  int64_t rows = 0;
  int64_t columns = 0;

  int64_t end_row() const { return row + rows; }
  int64_t end_column() const { return column + columns; }
};

// Cuts `whole` into rectangles of at most rows x columns, from left to right and down.
class Tiling {
 public:
  Tiling(const Rectangle& whole, int64_t rows, int64_t columns)
      : whole_(whole),
        rows_(rows),
        columns_(columns),
        // Rows without elements may have scales.
        across_(std::max<int64_t>(1, (whole.columns + columns - 1) / columns)) {}

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  // So many rectangles are work for one thread.
  int64_t grain() const { return std::max<int64_t>(1, kChunkSize / std::max<int64_t>(1, rows_ * columns_)); }
  int64_t count() const { return (whole_.rows + rows_ - 1) / rows_ * across_; }
  Rectangle at(int64_t i) const {
    const int64_t row = i / across_ * rows_, column = i % across_ * columns_;
    return {whole_.row + row, whole_.column + column, std::min(rows_, whole_.rows - row),
            std::min(columns_, whole_.columns - column)};
  }

 private:
  Rectangle whole_;
  int64_t rows_;
  int64_t columns_;
  int64_t across_;
};

// Panels are 256 columns wide. Where a column is a run of memory they are 32 rows high, so that two cache lines of FP32
// are read at a time, and the half as wide.
inline constexpr int64_t kPanelColumns = 256;
inline constexpr int64_t kTurnedRows = 32;
inline bool is_turned(const View& matrix) { return matrix.strides[0] == 1 && matrix.strides[1] != 1; }
inline Tiling panels_of(const View& matrix, const Rectangle& part) {
  return is_turned(matrix) ? Tiling(part, kTurnedRows, kPanelSize / kTurnedRows)
                           : Tiling(part, kPanelSize / kPanelColumns, kPanelColumns);
}

// The bands of a matrix: a panel, as high as a block at least, or the whole row if a row has one scale.
inline Tiling bands_of(const View& matrix, const ScaledView& scaled, ScaleRule rule) {
  const Rectangle whole = {0, 0, matrix.shape[0], matrix.shape[1]};
  const Tiling panels = panels_of(matrix, whole);
  const int64_t rows = rule == ScaleRule::kGiven ? 1 : scaled.block_rows;
  const int64_t columns = rule == ScaleRule::kDivided ? std::max<int64_t>(1, whole.columns) : panels.columns();
  return {whole, std::max(rows, panels.rows()), columns};
}

}  // namespace halftone::cpu
