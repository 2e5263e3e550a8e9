#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/norm/column_softmax.cpp"
#include "cpu/norm/column_softmax.h"

#include "backend/formula/softmax.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/rows/column_exp.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// A view along the dimension, starting at the first element of a strip of rows.
struct Rows {
  Rows(const View& view, int dim, int64_t offset, int64_t stride)
      : first(moved({static_cast<std::byte*>(view.data), view.dtype, 1}, offset, stride)), step(view.strides[dim]) {}
  Strided at(int64_t item) const { return moved(first, item * step, first.stride); }

  Strided first;
  int64_t step;
};

// A strip of adjacent rows: `in` and `out` are its input and output, `split` divides its items.
struct RowStrip {
  Strip place;
  Rows in;
  Rows out;
  const ColumnSplit& split;
  int64_t width() const { return place.width; }
};

// Calls f.operator()<C>(strip) for all rows of `in` along the dimension; `out` has the same shape.
template <class F>
void for_each_row_strip(ThreadPool& pool, const View& in, int dim, const View& out, bool wide, F&& f) {
  View starts = out;
  starts.shape[dim] = 1;
  const auto walk = [&]<class C>() {
    const SumPlan plan(in, starts, kStripWidth<C>);
    if (plan.strip_count() == 0 || in.shape[dim] == 0) return;
    for_each_column_strip(
        pool, plan.strip_count(), plan.strip(0).width, in.shape[dim], [&](int64_t index, const ColumnSplit& split) {
          const Strip strip = plan.strip(index);
          f.template operator()<C>(RowStrip{strip, Rows(in, dim, strip.in_offset, strip.in_stride),
                                            Rows(out, dim, strip.out_offset, strip.out_stride), split});
        });
  };
  if (wide) return walk.template operator()<double>();
  walk.template operator()<float>();
}

bool is_wide(const View& a, const View& b) { return a.dtype == DType::kF64 || b.dtype == DType::kF64; }

template <class C>
auto reader_of(const Rows& rows, int64_t width) {
  return [&rows, width](int64_t item, C* tile) { return read(rows.at(item), width, tile); };
}

// The output may be the input: each item is read before it is written.
template <class C>
void softmax_strip(const RowStrip& strip) {
  alignas(64) C largest[kStripWidth<C>];
  alignas(64) C inverse[kStripWidth<C>];
  const auto read_item = reader_of<C>(strip.in, strip.width());
  largest_of_columns(strip.split, strip.width(), read_item, largest);
  sum_exp_of_columns(strip.split, strip.width(), largest, read_item, inverse);
  for (int64_t j = 0; j < strip.width(); ++j) inverse[j] = C{1} / inverse[j];
  strip.split.for_each_item([&](int64_t item) {
    alignas(64) C tile[kStripWidth<C>];
    write_row<C>(strip.out.at(item), strip.width(), [&](C* row) {
      exp_of_differences(read_item(item, tile), largest, strip.width(), row);
      for (int64_t j = 0; j < strip.width(); ++j) row[j] *= inverse[j];
    });
  });
}

template <class C>
void log_softmax_strip(const RowStrip& strip) {
  alignas(64) C largest[kStripWidth<C>];
  alignas(64) C log_of_sum[kStripWidth<C>];
  const auto read_item = reader_of<C>(strip.in, strip.width());
  largest_of_columns(strip.split, strip.width(), read_item, largest);
  sum_exp_of_columns(strip.split, strip.width(), largest, read_item, log_of_sum);
  for (int64_t j = 0; j < strip.width(); ++j) log_of_sum[j] = std::log(log_of_sum[j]);
  strip.split.for_each_item([&](int64_t item) {
    alignas(64) C tile[kStripWidth<C>];
    write_row<C>(strip.out.at(item), strip.width(), [&](C* row) {
      const C* logits = read_item(item, tile);
      for (int64_t j = 0; j < strip.width(); ++j) row[j] = (logits[j] - largest[j]) - log_of_sum[j];
    });
  });
}

// The result has the same strides as the output.
Rows rows_of_result(const View& result, int dim, const Strip& place) {
  return Rows(result, dim, place.out_offset, place.out_stride);
}

template <class C>
void softmax_backward_strip(const RowStrip& strip, const Rows& results) {
  alignas(64) C dots[kStripWidth<C>];
  const auto read_grad = reader_of<C>(strip.in, strip.width());
  const auto read_result = reader_of<C>(results, strip.width());
  sum_columns<C, 1>(strip.split, strip.width(), dots, [&](int64_t item, C* HWY_RESTRICT step, C* tile) {
    alignas(64) C result_tile[kStripWidth<C>];
    const C* HWY_RESTRICT grad = read_grad(item, tile);
    const C* HWY_RESTRICT result = read_result(item, result_tile);
    for (int64_t j = 0; j < strip.width(); ++j) step[j] += grad[j] * result[j];
  });
  strip.split.for_each_item([&](int64_t item) {
    alignas(64) C grad_tile[kStripWidth<C>];
    alignas(64) C result_tile[kStripWidth<C>];
    write_row<C>(strip.out.at(item), strip.width(), [&](C* row) {
      const C* grad = read_grad(item, grad_tile);
      const C* result = read_result(item, result_tile);
      for (int64_t j = 0; j < strip.width(); ++j) row[j] = softmax_gradient(grad[j], result[j], dots[j]);
    });
  });
}

template <class C>
void log_softmax_backward_strip(const RowStrip& strip, const Rows& results) {
  alignas(64) C sums[kStripWidth<C>];
  alignas(64) C zeros[kStripWidth<C>] = {};
  const auto read_grad = reader_of<C>(strip.in, strip.width());
  const auto read_result = reader_of<C>(results, strip.width());
  sum_columns<C, 1>(strip.split, strip.width(), sums, [&](int64_t item, C* HWY_RESTRICT step, C* tile) {
    const C* grad = read_grad(item, tile);
    for (int64_t j = 0; j < strip.width(); ++j) step[j] += grad[j];
  });
  strip.split.for_each_item([&](int64_t item) {
    alignas(64) C grad_tile[kStripWidth<C>];
    alignas(64) C result_tile[kStripWidth<C>];
    alignas(64) C probabilities[kStripWidth<C>];
    write_row<C>(strip.out.at(item), strip.width(), [&](C* row) {
      const C* grad = read_grad(item, grad_tile);
      exp_of_differences(read_result(item, result_tile), zeros, strip.width(), probabilities);
      for (int64_t j = 0; j < strip.width(); ++j) row[j] = log_softmax_gradient(grad[j], probabilities[j], sums[j]);
    });
  });
}

}  // namespace

void softmax_columns(ThreadPool& pool, const View& x, int dim, const View& out) {
  for_each_row_strip(pool, x, dim, out, is_wide(x, out), []<class C>(const RowStrip& s) { softmax_strip<C>(s); });
}

void log_softmax_columns(ThreadPool& pool, const View& x, int dim, const View& out) {
  for_each_row_strip(pool, x, dim, out, is_wide(x, out), []<class C>(const RowStrip& s) { log_softmax_strip<C>(s); });
}

void softmax_gradient_columns(ThreadPool& pool, const View& grad, const View& result, int dim, const View& out) {
  for_each_row_strip(pool, grad, dim, out, is_wide(result, out), [&]<class C>(const RowStrip& strip) {
    softmax_backward_strip<C>(strip, rows_of_result(result, dim, strip.place));
  });
}

void log_softmax_gradient_columns(ThreadPool& pool, const View& grad, const View& result, int dim, const View& out) {
  for_each_row_strip(pool, grad, dim, out, is_wide(result, out), [&]<class C>(const RowStrip& strip) {
    log_softmax_backward_strip<C>(strip, rows_of_result(result, dim, strip.place));
  });
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(softmax_columns);
HWY_EXPORT(log_softmax_columns);
HWY_EXPORT(softmax_gradient_columns);
HWY_EXPORT(log_softmax_gradient_columns);

bool are_columns(const View& x, int dim) noexcept {
  int64_t neighbours = 1;
  for (int i = 0; i < x.rank(); ++i) {
    if (x.strides[i] > 0 && x.strides[i] < x.strides[dim]) neighbours *= x.shape[i];
  }
  return neighbours >= 16;
}

void column_softmax(ThreadPool& pool, const View& x, int dim, const View& out) noexcept {
  HWY_DYNAMIC_DISPATCH(softmax_columns)(pool, x, dim, out);
}

void column_log_softmax(ThreadPool& pool, const View& x, int dim, const View& out) noexcept {
  HWY_DYNAMIC_DISPATCH(log_softmax_columns)(pool, x, dim, out);
}

void column_softmax_backward(ThreadPool& pool, const View& grad, const View& result, int dim,
                             const View& out) noexcept {
  HWY_DYNAMIC_DISPATCH(softmax_gradient_columns)(pool, grad, result, dim, out);
}

void column_log_softmax_backward(ThreadPool& pool, const View& grad, const View& result, int dim,
                                 const View& out) noexcept {
  HWY_DYNAMIC_DISPATCH(log_softmax_gradient_columns)(pool, grad, result, dim, out);
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
