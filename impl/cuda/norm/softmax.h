// The parts of the softmax family that its files share: views with their dimension in place, and the choice of a
// kernel.
#pragma once

#include "cuda/norm/row.h"
#include "cuda/reduce/spread.h"

namespace halftone::cuda {

// The view with `dim` behind all others.
inline View with_last(const View& view, int dim) {
  View result = {view.data, view.dtype, {}, {}};
  for (int i = 0; i < view.rank(); ++i) {
    if (i == dim) continue;
    result.shape.push_back(view.shape[i]);
    result.strides.push_back(view.strides[i]);
  }
  if (view.rank() == 0) return result;
  result.shape.push_back(view.shape[dim]);
  result.strides.push_back(view.strides[dim]);
  return result;
}

// The first elements along `dim`.
inline View starts_along(const View& view, int dim) {
  View starts = view;
  if (view.rank() > 0) starts.shape[dim] = 1;
  return starts;
}

inline int64_t length_along(const View& view, int dim) { return view.rank() > 0 ? view.shape[dim] : 1; }

// True if the rows along `dim` fit into registers, and do not lie side by side in memory as columns.
template <int N>
bool takes_rows(const View* const (&views)[N], int dim) {
  if (!fits_in_registers(length_along(*views[0], dim), kThreads)) return false;
  const View starts = starts_along(*views[0], dim);
  return !is_by_columns(geometry_of(views, {&starts}));
}

template <class F>
auto with_row_type(const View& a, const View& b, F&& f) {
  const bool is_wide = a.dtype == DType::kF64 || b.dtype == DType::kF64;
  return with_float_type(is_wide ? DType::kF64 : DType::kF32, f);
}

}  // namespace halftone::cuda
