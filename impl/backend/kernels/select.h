// Kernels that choose elements: by their order, by chance, or because they are not 0.
// kernels.h gives the rules for every entry.
#pragma once

#include <cstddef>

#include "backend/device.h"
#include "backend/view.h"
#include "core/philox.h"

namespace halftone {

// The order of the elements along one dimension. NaN counts as the largest, -0 equals 0, and equal elements keep the
// order of their indices.
struct SortOrder {
  int dim = 0;
  bool descending = false;
  bool sorts_chosen = true;  // false: the chosen indices come in ascending order, whatever their elements
};

// Draws of categories, of which each is as likely as its weight says.
struct CategoryDraws {
  PhiloxKey key;
  bool replaces;  // a category may be drawn again
};

struct SelectKernels {
  // Bytes of scratch that `order` needs.
  size_t (*order_workspace)(Stream&, const SortOrder& order, const View& in, const View& out) noexcept;
  // out (i64, contiguous) = the indices of the first out.shape[dim] elements of each line of `in` in this order. `in`
  // has at least one dimension, any strides, and any dtype but an 8-bit float. The shapes are equal except at dim,
  // where out is not larger.
  Status (*order)(Stream&, const SortOrder& order, const View& in, void* workspace, const View& out) noexcept;
  // Bytes of scratch that `draw_categories` needs.
  size_t (*draw_workspace)(Stream&, const View& weights) noexcept;
  // out (i64 [rows, draws], contiguous) = categories drawn in proportion to the weights of the row; weights [rows,
  // categories], float, any strides. Draw d of row r takes the 64-bit number r * draws + d of the sequence, so it does
  // not depend on threads. A weight that is negative or not finite, and a row with too few weights above 0, return
  // INVALID_ARGUMENT naming "probabilities".
  Status (*draw_categories)(Stream&, const CategoryDraws& draws, const View& weights, void* workspace,
                            const View& out) noexcept;
  // out (i64 [count, dimensions of mask], contiguous) = the indices of the true elements in row-major order. mask is
  // bool and contiguous. REQUIRES: `count` elements are true.
  Status (*nonzero)(Stream&, const View& mask, const View& out) noexcept;
  // out (i64 [rows, m]) = the number of elements of the row of `sorted` [rows, n] that come before each element of
  // `values` [rows, m] in the order of SortOrder; with `after_equals` those that equal it count, too. All are
  // contiguous; sorted and values have one dtype, any but an 8-bit float. A row that is not sorted gives some number in
  // [0, n].
  Status (*search_sorted)(Stream&, bool after_equals, const View& sorted, const View& values, const View& out) noexcept;
};

// All entries (backend/kernels/entry.h).
#define HALFTONE_SELECT_ENTRIES(X)  \
  X(SelectKernels, order_workspace) \
  X(SelectKernels, order)           \
  X(SelectKernels, draw_workspace)  \
  X(SelectKernels, draw_categories) \
  X(SelectKernels, nonzero)         \
  X(SelectKernels, search_sorted)

}  // namespace halftone
