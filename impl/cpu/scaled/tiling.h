// How a matrix is cut: into bands of whole blocks, which threads take, and these into panels that fit L1. Each band is
// computed on its own, so the result does not depend on the cuts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/chunks.h"
#include "backend/kernels/scaled.h"

namespace halftone::cpu {

// The most elements of a panel: 16 KiB of FP32. Panels begin at multiples of 256 columns.
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

// Panels are as high as a cache line has elements of 4 bytes, so that a matrix whose columns are rows in memory is read
// line by line.
inline constexpr int64_t kPanelRows = 16;
inline constexpr int64_t kPanelColumns = kPanelSize / kPanelRows;

// The bands of a matrix: a panel wide, or the whole row if a row has one scale.
inline Tiling bands_of(const ScaledView& scaled, ScaleRule rule) {
  const Rectangle whole = {0, 0, scaled.codes.shape[0], scaled.codes.shape[1]};
  const bool is_square = scaled.block_rows > 1 && rule != ScaleRule::kGiven;
  const int64_t columns = rule == ScaleRule::kDivided ? std::max<int64_t>(1, whole.columns) : kPanelColumns;
  return {whole, is_square ? scaled.block_rows : kPanelRows, columns};
}

}  // namespace halftone::cpu
