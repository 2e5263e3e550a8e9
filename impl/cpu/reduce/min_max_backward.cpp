#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/reduce/min_max_backward.cpp"
#include <algorithm>

#include "cpu/device.h"
#include "cpu/reduce/entries.h"
#include "cpu/rows/reduced_rows.h"
#include "cpu/rows/rows.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/simd/tile_io.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// Calls f(offset in the row, count) for the tiles of a row.
template <class C, class F>
void for_each_tile_of(int64_t length, F&& f) {
  for (int64_t offset = 0; offset < length; offset += kTileSize<C>) f(offset, std::min(kTileSize<C>, length - offset));
}

template <class C>
struct Ties {
  C value;
  bool include(C x) const { return x == value || (x != x && value != value); }
};

template <class C>
void share_row(TileReader<C>& in, int64_t begin, int64_t length, Ties<C> ties, C grad, TileWriter<C>& out) {
  int64_t count = 0;
  for_each_tile_of<C>(length, [&](int64_t offset, int64_t size) {
    const C* x = in.read(begin + offset, size);
    for (int64_t i = 0; i < size; ++i) count += ties.include(x[i]) ? 1 : 0;
  });
  const C share = grad / static_cast<C>(count);
  for_each_tile_of<C>(length, [&](int64_t offset, int64_t size) {
    const C* x = in.read(begin + offset, size);
    C* tile = out.tile(begin + offset, size);
    for (int64_t i = 0; i < size; ++i) tile[i] = ties.include(x[i]) ? share : C{0};
    out.commit(begin + offset, size);
  });
}

template <class C>
void share_rows(ThreadPool& pool, const View& grad, const View& in, const View& values, const View& grad_in) {
  const ReducedRows rows(in, values);
  const Layout grads(rows.of(grad)), from(rows.of(in)), chosen(rows.of(values)), to(rows.of(grad_in));
  for_each_row_range(pool, rows.rows, rows.length, [&](int64_t first, int64_t last) {
    TileReader<C> grad_reader(grads), reader(from), value_reader(chosen);
    TileWriter<C> writer(to);
    for (int64_t row = first; row < last; ++row) {
      const C row_grad = *grad_reader.read(row, 1);
      share_row(reader, row * rows.length, rows.length, {*value_reader.read(row, 1)}, row_grad, writer);
    }
  });
}

template <class C>
void one_hot_rows(ThreadPool& pool, const View& grad, const View& indices, int dim, const View& out) {
  const int64_t length = out.rank() > 0 ? out.shape[dim] : 1;
  const Layout grads(with_last(grad, dim)), places(with_last(indices, dim)), to(with_last(out, dim));
  for_each_row_range(pool, grad.numel(), length, [&](int64_t first, int64_t last) {
    TileReader<C> grad_reader(grads);
    TileReader<int64_t> index_reader(places);
    TileWriter<C> writer(to);
    for (int64_t row = first; row < last; ++row) {
      const C row_grad = *grad_reader.read(row, 1);
      const int64_t index = *index_reader.read(row, 1);
      for_each_tile_of<C>(length, [&](int64_t offset, int64_t size) {
        C* tile = writer.tile(row * length + offset, size);
        std::fill(tile, tile + size, C{0});
        if (index >= offset && index < offset + size) tile[index - offset] = row_grad;
        writer.commit(row * length + offset, size);
      });
    }
  });
}

}  // namespace

void share_among_ties(ThreadPool& pool, const View& grad, const View& in, const View& values, const View& grad_in) {
  (in.dtype == DType::kF64 ? share_rows<double> : share_rows<float>)(pool, grad, in, values, grad_in);
}

void one_hot_at_indices(ThreadPool& pool, const View& grad, const View& indices, int dim, const View& out) {
  (out.dtype == DType::kF64 ? one_hot_rows<double> : one_hot_rows<float>)(pool, grad, indices, dim, out);
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(share_among_ties);
HWY_EXPORT(one_hot_at_indices);

Status min_max_backward(Stream& stream, const View& grad, const View& in, const View& values,
                        const View& grad_in) noexcept {
  HWY_DYNAMIC_DISPATCH(share_among_ties)(pool_of(stream), grad, in, values, grad_in);
  return {};
}

Status one_hot(Stream& stream, const View& grad, const View& indices, int dim, const View& out) noexcept {
  HWY_DYNAMIC_DISPATCH(one_hot_at_indices)(pool_of(stream), grad, indices, dim, out);
  return {};
}

}  // namespace halftone::cpu
#endif
