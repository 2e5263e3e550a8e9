// Sums of exponentials of adjacent columns. For kernel files that Highway compiles once per instruction set: include
// after hwy/highway.h.
#if defined(HALFTONE_CPU_NORM_COLUMN_EXP_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_NORM_COLUMN_EXP_H
#undef HALFTONE_CPU_NORM_COLUMN_EXP_H
#else
#define HALFTONE_CPU_NORM_COLUMN_EXP_H
#endif

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/rows/column_sums.h"
#include "cpu/rows/row_math.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

// out[i] = exp(row[i] - shifts[i])
HWY_INLINE void exp_of_differences(const float* row, const float* shifts, int64_t count, float* out) {
  const hn::ScalableTag<float> d;
  for_each_vector(
      d, count, [d](auto x, auto shift) HWY_ATTR { return exponential(d, hn::Sub(x, shift)); }, out, row, shifts);
}

HWY_INLINE void exp_of_differences(const double* row, const double* shifts, int64_t count, double* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = std::exp(row[i] - shifts[i]);
}

// Finds the largest element of each column; read_item(item, tile) returns an item's elements. NaN may be skipped, as in
// row_math.h.
template <class C, class Read>
void largest_of_columns(const ColumnSplit& split, int64_t width, Read&& read_item, C* largest) {
  alignas(64) C of_pieces[ColumnSplit::kMostPieces][kStripWidth<C>];
  split.for_each_piece([&](int64_t piece, int64_t first, int64_t last) {
    alignas(64) C tile[kStripWidth<C>];
    alignas(64) C best[kStripWidth<C>];
    std::fill(best, best + width, -std::numeric_limits<C>::infinity());
    for (int64_t item = first; item < last; ++item) {
      const C* HWY_RESTRICT row = read_item(item, tile);
      for (int64_t j = 0; j < width; ++j) best[j] = row[j] > best[j] ? row[j] : best[j];
    }
    std::copy(best, best + width, of_pieces[piece]);
  });
  std::copy(of_pieces[0], of_pieces[0] + width, largest);
  for (int64_t piece = 1; piece < split.pieces(); ++piece) {
    for (int64_t j = 0; j < width; ++j) largest[j] = std::max(largest[j], of_pieces[piece][j]);
  }
}

// sums[j] = sum of exp(column j - shifts[j])
template <class C, class Read>
void sum_exp_of_columns(const ColumnSplit& split, int64_t width, const C* shifts, Read&& read_item, C* sums) {
  sum_columns<C, 1>(split, width, sums, [&](int64_t item, C* HWY_RESTRICT step, C* tile) {
    alignas(64) C exps[kStripWidth<C>];
    exp_of_differences(read_item(item, tile), shifts, width, exps);
    for (int64_t j = 0; j < width; ++j) step[j] += exps[j];
  });
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_NORM_COLUMN_EXP_H
