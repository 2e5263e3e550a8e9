// The operands of attention as kernels see them: [batches..., heads, rows, columns] with any strides. Device code.
#pragma once

#include "backend/kernels/attention.h"
#include "core/philox.h"
#include "cuda/base/element.h"

namespace halftone::cuda {

inline constexpr int kMostBatchDims = kMaxRank - 3;

struct HeadRows {
  Elements elements;
  int64_t batch_strides[kMostBatchDims] = {};
  int64_t head_stride = 0;
  int64_t row_stride = 0;
  int64_t column_stride = 0;
};

// Null data for a view that is not there.
inline HeadRows head_rows_of(const View& view) {
  HeadRows rows = {.elements = {view.data, view.dtype}};
  if (view.data == nullptr) return rows;
  const int batch_dims = view.rank() - 3;
  for (int d = 0; d < batch_dims; ++d) rows.batch_strides[d] = view.strides[d];
  rows.head_stride = view.strides[batch_dims];
  rows.row_stride = view.strides[batch_dims + 1];
  rows.column_stride = view.strides[batch_dims + 2];
  return rows;
}

// Sizes and settings. `dropout_row` is the distance of rows in dropout's sequence.
struct AttentionShape {
  int batch_dims = 0;
  int64_t batch_sizes[kMostBatchDims] = {};
  int64_t batches = 1;
  int64_t heads = 1;
  int64_t group = 1;  // heads that share one head of k and v
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t depth = 0;
  int64_t value_depth = 0;
  double scale = 1.0;
  bool is_causal = false;
  int64_t causal_offset = 0;
  bool drops = false;
  PhiloxKey dropout_key;
  uint32_t dropout_threshold = 0;
  double dropout_scale = 1.0;
  int64_t dropout_row = 0;
};

AttentionShape attention_shape(const AttentionArgs& args) noexcept;

// A head of one batch.
struct Head {
  int64_t batch;
  int64_t head;
};

HALFTONE_DEVICE inline int64_t offset_of(const AttentionShape& shape, const HeadRows& rows, const Head& head) {
  int64_t offset = head.head * rows.head_stride;
  int64_t batch = head.batch;
  for (int d = shape.batch_dims - 1; d >= 0; --d) {
    offset += batch % shape.batch_sizes[d] * rows.batch_strides[d];
    batch /= shape.batch_sizes[d];
  }
  return offset;
}

template <class C>
HALFTONE_DEVICE inline C load_row(const HeadRows& rows, int64_t offset, int64_t row, int64_t column) {
  return load<C>(rows.elements, offset + row * rows.row_stride + column * rows.column_stride);
}
template <class C>
HALFTONE_DEVICE inline void store_row(const HeadRows& rows, int64_t offset, int64_t row, int64_t column, C value) {
  store<C>(rows.elements, offset + row * rows.row_stride + column * rows.column_stride, value);
}

// 0 or 1 / (1 - p) for a key and the number of the query among all.
template <class C>
HALFTONE_DEVICE inline C dropout_factor(const AttentionShape& shape, int64_t row, int64_t key) {
  if (!shape.drops) return C{1};
  const auto element = static_cast<uint64_t>(row * shape.dropout_row + key);
  // Chosen by comparisons: an index would put the block into local memory.
  const PhiloxBlock block = philox(current_key(shape.dropout_key), element / 4);
  const uint32_t low = element % 2 == 0 ? block[0] : block[1];
  const uint32_t high = element % 2 == 0 ? block[2] : block[3];
  const uint32_t word = element % 4 < 2 ? low : high;
  return (word >> 8) >= shape.dropout_threshold ? static_cast<C>(shape.dropout_scale) : C{0};
}

}  // namespace halftone::cuda
