// The positions at which a tap of a window reads inside of a plane, and the runs in which it reads rows that follow
// each other. Pure functions, any thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/conv/blocks.h"
#include "cpu/conv/window_patches.h"

namespace halftone::cpu {

// The range of positions along one dimension where a tap is inside the plane.
struct Inside {
  int64_t begin;
  int64_t end;
  int64_t origin;  // the tap of position p reads p * stride + origin
};

inline Inside inside(const Patches& patches, int dim, int64_t tap, int64_t positions) {
  const int64_t size = patches.planes.shape[2 + dim];
  const int64_t stride = patches.window.stride[dim];
  const int64_t origin = tap * patches.window.dilation[dim] - patches.window.padding[dim];
  // Divisions by 1 would take as long as the copy of a short row.
  const auto steps = [&](int64_t distance) { return stride == 1 ? distance : distance / stride; };
  const int64_t begin = origin < 0 ? std::min(steps(-origin + stride - 1), positions) : 0;
  const int64_t end = origin < size ? std::min(steps(size - 1 - origin) + 1, positions) : 0;
  return {begin, std::max(begin, end), origin};
}

// True if positions lie as the elements of a plane do: a tap then reads the plane itself, shifted, and rows that follow
// each other are one run of elements. At its borders a run holds elements of neighbouring rows.
inline bool is_shift(const Patches& patches) {
  const View& planes = patches.planes;
  const bool moves_by_one = patches.window.stride[0] == 1 && patches.window.stride[1] == 1;
  return moves_by_one && planes.shape[3] == patches.row_width && planes.strides[3] == 1 &&
         planes.strides[2] == patches.row_width;
}

// The run of one tap in one image.
struct Run {
  int64_t position;  // the first, counted from the block's first row
  int64_t element;   // that it reads, in the plane
  int64_t count;     // none if the tap is outside of the plane at all positions
  int64_t row;       // of positions, the first
  int64_t rows;
};

inline Run run_of(const Inside& rows, const Inside& columns, const Block& block, int64_t width) {
  const int64_t first = std::max(rows.begin, block.row);
  const int64_t last = std::min(rows.end, block.row + block.rows);
  if (first >= last || columns.begin == columns.end) return {};
  return {.position = (first - block.row) * width + columns.begin,
          .element = (first + rows.origin) * width + columns.begin + columns.origin,
          .count = (last - first - 1) * width + columns.end - columns.begin,
          .row = first - block.row,
          .rows = last - first};
}

// Clears the positions of the run's rows whose tap is outside of the plane. Column by column: borders are narrow.
template <class T>
void clear_borders(const Run& run, const Inside& columns, int64_t width, T* image) {
  T* first = image + run.row * width;
  const auto clear_column = [&](int64_t x) {
    for (int64_t y = 0; y < run.rows; ++y) first[y * width + x] = 0;
  };
  for (int64_t x = 0; x < columns.begin; ++x) clear_column(x);
  for (int64_t x = columns.end; x < width; ++x) clear_column(x);
}

}  // namespace halftone::cpu
