// Joins elements with those at the places that an index names: the gradients of embedding and gather, scatter and
// index_put. Work is cut by the place written: blocks of the outer dimensions, of columns, and of the indexed rows. One
// thread owns each output element and reads all indices in order, so a result depends neither on the cuts nor on the
// threads.
#include <algorithm>

#include "core/type_list.h"
#include "cpu/device.h"
#include "cpu/index/entries.h"
#include "cpu/index/lines.h"
#include "cpu/simd/ranges.h"

namespace halftone::cpu {

namespace {

constexpr int64_t kColumns = 128;
// If other blocks are fewer than kManyBlocks, rows are also cut into kRowParts parts. Each part reads every index.
constexpr int64_t kRowParts = 16;
constexpr int64_t kManyBlocks = 16;

// Sums and products of integers wrap around on overflow.
template <ScatterOp op, class T>
T joined(T old, T next) {
  using Ring = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
  if constexpr (op == ScatterOp::kAdd) return static_cast<T>(static_cast<Ring>(old) + static_cast<Ring>(next));
  if constexpr (op == ScatterOp::kMultiply) return static_cast<T>(static_cast<Ring>(old) * static_cast<Ring>(next));
  if constexpr (op == ScatterOp::kMaximum) return old != old || old > next ? old : next;
  if constexpr (op == ScatterOp::kMinimum) return old != old || old < next ? old : next;
  return next;
}

// A block of the output that one thread owns.
struct Block {
  int64_t outer;
  int64_t row_begin, row_end;
  int64_t column_begin, column_end;
};

struct Plan {
  Lines source, out;
  int64_t column_blocks, row_parts;

  Plan(const View& source_view, const View& out_view, int dim)
      : source(source_view, dim), out(out_view, dim), column_blocks((out.inner + kColumns - 1) / kColumns) {
    const bool shares_rows = source_view.numel() > kInlineSize && out.outer * column_blocks < kManyBlocks;
    row_parts = shares_rows ? kRowParts : 1;
  }

  int64_t count() const { return out.outer * column_blocks * row_parts; }
  // About kChunkSize elements of work.
  int64_t grain() const {
    return std::max<int64_t>(1, kChunkSize * row_parts / (source.size * std::min(kColumns, out.inner)));
  }
  Block at(int64_t i) const {
    const int64_t part = i % row_parts;
    const int64_t column = i / row_parts % column_blocks * kColumns;
    return {.outer = i / row_parts / column_blocks,
            .row_begin = out.size / row_parts * part + std::min(part, out.size % row_parts),
            .row_end = out.size / row_parts * (part + 1) + std::min(part + 1, out.size % row_parts),
            .column_begin = column,
            .column_end = std::min(column + kColumns, out.inner)};
  }
};

// For one vector of indices: joins whole rows.
template <ScatterOp op, class T>
void join_rows(const Plan& plan, const Block& block, int64_t ignored, const T* source, const int64_t* index, T* out) {
  const int64_t inner = plan.out.inner;
  for (int64_t i = 0; i < plan.source.size; ++i) {
    const int64_t row = index[i];
    if (row < block.row_begin || row >= block.row_end || row == ignored) continue;
    for (int64_t j = block.column_begin; j < block.column_end; ++j) {
      out[row * inner + j] = joined<op>(out[row * inner + j], source[i * inner + j]);
    }
  }
}

template <ScatterOp op, class T>
void join_elements(const Plan& plan, const Block& block, int64_t ignored, const T* source, const int64_t* index,
                   T* out) {
  const int64_t inner = plan.out.inner;
  for (int64_t i = 0; i < plan.source.size; ++i) {
    for (int64_t j = block.column_begin; j < block.column_end; ++j) {
      const int64_t row = index[i * inner + j];
      if (row < block.row_begin || row >= block.row_end || row == ignored) continue;
      out[row * inner + j] = joined<op>(out[row * inner + j], source[i * inner + j]);
    }
  }
}

// Calls f.operator()<op>().
template <class F>
void visit_op(ScatterOp op, F&& f) {
  switch (op) {
    case ScatterOp::kAdd:
      return f.template operator()<ScatterOp::kAdd>();
    case ScatterOp::kAssign:
      return f.template operator()<ScatterOp::kAssign>();
    case ScatterOp::kMultiply:
      return f.template operator()<ScatterOp::kMultiply>();
    case ScatterOp::kMaximum:
      return f.template operator()<ScatterOp::kMaximum>();
    case ScatterOp::kMinimum:
      return f.template operator()<ScatterOp::kMinimum>();
  }
}

template <ScatterOp op, class T>
void run(ThreadPool& pool, const Plan& plan, const Indexed& indexed, const View& source, const View& index,
         const View& out) {
  const auto* indices = static_cast<const int64_t*>(index.data);
  const bool by_row = index.rank() == 1;
  for_each_range(pool, plan.count(), plan.grain(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Block block = plan.at(i);
      const int64_t offset = block.outer * plan.source.size * plan.source.inner;
      const T* from = static_cast<const T*>(source.data) + offset;
      T* to = static_cast<T*>(out.data) + block.outer * plan.out.size * plan.out.inner;
      if (by_row) {
        join_rows<op>(plan, block, indexed.ignored, from, indices, to);
      } else {
        join_elements<op>(plan, block, indexed.ignored, from, indices + offset, to);
      }
    }
  });
}

}  // namespace

Status scatter(Stream& stream, const Indexed& indexed, const View& source, const View& index,
               const View& out) noexcept {
  if (source.numel() == 0 || out.numel() == 0) return {};
  const Plan plan(source, out, indexed.dim);
  const bool known = try_visit_dtype(TypeList<double, float, int64_t>{}, out.dtype, [&]<class T>() {
    visit_op(indexed.op, [&]<ScatterOp op>() { run<op, T>(pool_of(stream), plan, indexed, source, index, out); });
  });
  if (known) return {};
  return Status::failure(Code::kUnsupported, "scatter has no kernel for %s", name_of(out.dtype));
}

}  // namespace halftone::cpu
