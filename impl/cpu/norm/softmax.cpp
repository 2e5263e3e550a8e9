#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/norm/softmax.cpp"
#include "cpu/norm/entries.h"

#include "backend/formula/softmax.h"
#include "cpu/device.h"
#include "cpu/norm/column_softmax.h"
#include "cpu/rows/rows.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/rows/row_math.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// ---- One row; `begin` is its first element in row-major order

// If a row fits in a tile, the exponentials stay in the output's tile and are computed only once.
template <class C>
void softmax_short_row(TileReader<C>& x, int64_t begin, int64_t length, TileWriter<C>& out) {
  const C* logits = x.read(begin, length);
  C* tile = out.tile(begin, length);
  exp_of_difference(logits, largest_of(logits, length), length, tile);
  const C inverse = C{1} / sum_of_block<C>(length, [tile](int64_t i) { return tile[i]; });
  for (int64_t i = 0; i < length; ++i) tile[i] *= inverse;
  out.commit(begin, length);
}

template <class C>
void softmax_row(TileReader<C>& x, int64_t begin, int64_t length, TileWriter<C>& out) {
  if (length <= kTileSize<C>) return softmax_short_row(x, begin, length, out);
  const LogSumExp<C> row = log_sum_exp(x, begin, length);
  const C inverse = C{1} / row.sum;
  for_each_tile<C>(length, [&](int64_t offset, int64_t count) {
    C* tile = out.tile(begin + offset, count);
    exp_of_difference(x.read(begin + offset, count), row.largest, count, tile);
    for (int64_t i = 0; i < count; ++i) tile[i] *= inverse;
    out.commit(begin + offset, count);
  });
}

template <class C>
void log_softmax_row(TileReader<C>& x, int64_t begin, int64_t length, TileWriter<C>& out) {
  const LogSumExp<C> row = log_sum_exp(x, begin, length);
  const C log_of_sum = std::log(row.sum);
  for_each_tile<C>(length, [&](int64_t offset, int64_t count) {
    const C* logits = x.read(begin + offset, count);
    C* tile = out.tile(begin + offset, count);
    for (int64_t i = 0; i < count; ++i) tile[i] = (logits[i] - row.largest) - log_of_sum;
    out.commit(begin + offset, count);
  });
}

template <class C>
void softmax_backward_row(TileReader<C>& grad, TileReader<C>& result, int64_t begin, int64_t length,
                          TileWriter<C>& out) {
  const C dot = sum_of_tiles<C>(length, [&](int64_t offset, int64_t count, C* products) {
    const C* g = grad.read(begin + offset, count);
    const C* y = result.read(begin + offset, count);
    for (int64_t i = 0; i < count; ++i) products[i] = g[i] * y[i];
  });
  for_each_tile<C>(length, [&](int64_t offset, int64_t count) {
    const C* g = grad.read(begin + offset, count);
    const C* y = result.read(begin + offset, count);
    C* tile = out.tile(begin + offset, count);
    for (int64_t i = 0; i < count; ++i) tile[i] = softmax_gradient(g[i], y[i], dot);
    out.commit(begin + offset, count);
  });
}

template <class C>
void log_softmax_backward_row(TileReader<C>& grad, TileReader<C>& result, int64_t begin, int64_t length,
                              TileWriter<C>& out) {
  const C grad_sum = sum_of_tiles<C>(
      length, [&](int64_t offset, int64_t count, C* terms) { grad.read_into(begin + offset, count, terms); });
  alignas(64) C probabilities[kTileSize<C>];
  for_each_tile<C>(length, [&](int64_t offset, int64_t count) {
    const C* g = grad.read(begin + offset, count);
    exp_of_difference(result.read(begin + offset, count), C{0}, count, probabilities);
    C* tile = out.tile(begin + offset, count);
    for (int64_t i = 0; i < count; ++i) tile[i] = log_softmax_gradient(g[i], probabilities[i], grad_sum);
    out.commit(begin + offset, count);
  });
}

// ---- All rows along a dimension

template <class F>
void with_row_type(DType a, DType b, F&& f) {
  if (a == DType::kF64 || b == DType::kF64) return f.template operator()<double>();
  f.template operator()<float>();
}

// Calls f.operator()<C>(reader, begin, length, writer) for every row.
template <class F>
void for_each_row(ThreadPool& pool, const View& x, int dim, const View& out, F&& f) {
  const int64_t elements = x.numel();
  if (elements == 0) return;
  const int64_t length = x.rank() == 0 ? 1 : x.shape[dim];
  const Layout from(with_last(x, dim));
  const Layout to(with_last(out, dim));
  for_each_row_range(pool, elements / length, length, [&](int64_t first, int64_t last) {
    with_row_type(x.dtype, out.dtype, [&]<class C>() {
      TileReader<C> reader(from);
      TileWriter<C> writer(to);
      for (int64_t row = first; row < last; ++row) f.template operator()<C>(reader, row * length, length, writer);
    });
  });
}

// Calls f.operator()<C>(grad reader, result reader, begin, length, writer) for every row.
template <class F>
void for_each_row(ThreadPool& pool, const View& grad, const View& result, int dim, const View& out, F&& f) {
  const int64_t elements = grad.numel();
  if (elements == 0) return;
  const int64_t length = grad.rank() == 0 ? 1 : grad.shape[dim];
  const Layout grads(with_last(grad, dim));
  const Layout results(with_last(result, dim));
  const Layout to(with_last(out, dim));
  for_each_row_range(pool, elements / length, length, [&](int64_t first, int64_t last) {
    with_row_type(result.dtype, out.dtype, [&]<class C>() {
      TileReader<C> grad_reader(grads);
      TileReader<C> result_reader(results);
      TileWriter<C> writer(to);
      for (int64_t row = first; row < last; ++row) {
        f.template operator()<C>(grad_reader, result_reader, row * length, length, writer);
      }
    });
  });
}

}  // namespace

void softmax_rows(ThreadPool& pool, const View& x, int dim, const View& out) {
  for_each_row(pool, x, dim, out, []<class C>(TileReader<C>& in, int64_t begin, int64_t length, TileWriter<C>& to) {
    softmax_row(in, begin, length, to);
  });
}

void log_softmax_rows(ThreadPool& pool, const View& x, int dim, const View& out) {
  for_each_row(pool, x, dim, out, []<class C>(TileReader<C>& in, int64_t begin, int64_t length, TileWriter<C>& to) {
    log_softmax_row(in, begin, length, to);
  });
}

void softmax_backward_rows(ThreadPool& pool, const View& grad, const View& result, int dim, const View& out) {
  for_each_row(pool, grad, result, dim, out,
               []<class C>(TileReader<C>& g, TileReader<C>& y, int64_t begin, int64_t length, TileWriter<C>& to) {
                 softmax_backward_row(g, y, begin, length, to);
               });
}

void log_softmax_backward_rows(ThreadPool& pool, const View& grad, const View& result, int dim, const View& out) {
  for_each_row(pool, grad, result, dim, out,
               []<class C>(TileReader<C>& g, TileReader<C>& y, int64_t begin, int64_t length, TileWriter<C>& to) {
                 log_softmax_backward_row(g, y, begin, length, to);
               });
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(softmax_rows);
HWY_EXPORT(log_softmax_rows);
HWY_EXPORT(softmax_backward_rows);
HWY_EXPORT(log_softmax_backward_rows);

Status softmax(Stream& stream, const View& x, int dim, const View& out) noexcept {
  if (are_columns(x, dim)) {
    column_softmax(pool_of(stream), x, dim, out);
  } else {
    HWY_DYNAMIC_DISPATCH(softmax_rows)(pool_of(stream), x, dim, out);
  }
  return {};
}

Status log_softmax(Stream& stream, const View& x, int dim, const View& out) noexcept {
  if (are_columns(x, dim)) {
    column_log_softmax(pool_of(stream), x, dim, out);
  } else {
    HWY_DYNAMIC_DISPATCH(log_softmax_rows)(pool_of(stream), x, dim, out);
  }
  return {};
}

Status softmax_backward(Stream& stream, const View& grad_output, const View& result, int dim,
                        const View& grad_input) noexcept {
  if (are_columns(result, dim) && have_same_strides(result, grad_input)) {
    column_softmax_backward(pool_of(stream), grad_output, result, dim, grad_input);
  } else {
    HWY_DYNAMIC_DISPATCH(softmax_backward_rows)(pool_of(stream), grad_output, result, dim, grad_input);
  }
  return {};
}

Status log_softmax_backward(Stream& stream, const View& grad_output, const View& result, int dim,
                            const View& grad_input) noexcept {
  if (are_columns(result, dim) && have_same_strides(result, grad_input)) {
    column_log_softmax_backward(pool_of(stream), grad_output, result, dim, grad_input);
  } else {
    HWY_DYNAMIC_DISPATCH(log_softmax_backward_rows)(pool_of(stream), grad_output, result, dim, grad_input);
  }
  return {};
}

}  // namespace halftone::cpu
#endif
