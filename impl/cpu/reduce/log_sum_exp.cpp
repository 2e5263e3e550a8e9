#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/reduce/log_sum_exp.cpp"
#include <algorithm>
#include <cmath>

#include "cpu/device.h"
#include "cpu/reduce/entries.h"
#include "cpu/rows/reduced_rows.h"
#include "cpu/rows/rows.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/rows/column_exp.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// If the largest element is infinite, the differences to it would be NaN: sum without the shift, because exp and log
// handle infinities themselves.
template <class C>
C log_sum_exp_of_row(TileReader<C>& x, int64_t begin, int64_t length) {
  const LogSumExp<C> parts = log_sum_exp(x, begin, length);
  if (!std::isinf(parts.largest)) return parts.largest + std::log(parts.sum);
  return std::log(sum_of_tiles<C>(length, [&](int64_t offset, int64_t count, C* exps) {
    exp_of_difference(x.read(begin + offset, count), C{0}, count, exps);
  }));
}

template <class C>
void reduce_rows(ThreadPool& pool, const View& in, const View& out) {
  const ReducedRows rows(in, out);
  const Layout from(rows.of(in)), to(rows.of(out));
  for_each_row_range(pool, rows.rows, rows.length, [&](int64_t first, int64_t last) {
    TileReader<C> reader(from);
    TileWriter<C> writer(to);
    for (int64_t row = first; row < last; ++row) {
      const C result = log_sum_exp_of_row(reader, row * rows.length, rows.length);
      writer.write(row, 1, &result);
    }
  });
}

// With fewer columns in a strip, reading row by row is faster.
bool has_wide_strips(const SumPlan& plan) {
  return plan.by_columns() && plan.strip_count() > 0 && plan.strip(0).width >= 16;
}

// Returns a reader of the strip's terms, one item of all columns at a time.
template <class C>
auto reader_of(const SumPlan& plan, const Strip& strip) {
  return [&plan, strip](int64_t item, C* tile) {
    const Strided term = plan.terms().run_at(item, 1).elements;
    return read(moved(term, strip.in_offset, strip.in_stride), strip.width, tile);
  };
}

// The part of a reduction's output that belongs to the strip.
Strided outputs_of(const View& out, const Strip& strip) {
  return moved({static_cast<std::byte*>(out.data), out.dtype, 1}, strip.out_offset, strip.out_stride);
}

template <class C>
void reduce_columns(ThreadPool& pool, const SumPlan& plan, const View& out) {
  const int64_t width = plan.strip(0).width;
  for_each_column_strip(pool, plan.strip_count(), width, plan.term_count(),
                        [&](int64_t index, const ColumnSplit& split) {
                          const Strip strip = plan.strip(index);
                          const auto read_item = reader_of<C>(plan, strip);
                          alignas(64) C shifts[kStripWidth<C>];
                          alignas(64) C results[kStripWidth<C>];
                          largest_of_columns(split, strip.width, read_item, shifts);
                          for (int64_t j = 0; j < strip.width; ++j)
                            shifts[j] = std::isinf(shifts[j]) ? C{0} : shifts[j];
                          sum_exp_of_columns(split, strip.width, shifts, read_item, results);
                          for (int64_t j = 0; j < strip.width; ++j) results[j] = shifts[j] + std::log(results[j]);
                          store_tile(results, strip.width, outputs_of(out, strip));
                        });
}

// The sum of exp(x - largest) for a row whose largest element is infinite: exp(x - largest) is then 0 for finite
// elements and NaN for infinite ones. `result` is log_sum_exp: with a NaN element all gradients are NaN.
template <class C>
C sum_beside_infinity(C result) {
  return std::isnan(result) ? result : C{1};
}

// Replaces the sums of columns whose largest element is infinite.
template <class C, class ReadItem>
void mend_infinite_sums(const ColumnSplit& split, int64_t width, const C* largest, const ReadItem& read_item, C* sums) {
  if (std::none_of(largest, largest + width, [](C x) { return std::isinf(x); })) return;
  alignas(64) C shifts[kStripWidth<C>] = {};
  alignas(64) C exps[kStripWidth<C>];
  sum_exp_of_columns(split, width, shifts, read_item, exps);
  for (int64_t j = 0; j < width; ++j) {
    if (std::isinf(largest[j])) sums[j] = sum_beside_infinity(exps[j]);
  }
}

template <class C>
void spread_columns(ThreadPool& pool, const SumPlan& plan, const View& grad, const SumPlan& out) {
  const int64_t width = plan.strip(0).width;
  for_each_column_strip(
      pool, plan.strip_count(), width, plan.term_count(), [&](int64_t index, const ColumnSplit& split) {
        const Strip strip = plan.strip(index);
        const auto read_item = reader_of<C>(plan, strip);
        alignas(64) C largest[kStripWidth<C>];
        alignas(64) C sums[kStripWidth<C>];
        alignas(64) C factors[kStripWidth<C>];
        largest_of_columns(split, strip.width, read_item, largest);
        sum_exp_of_columns(split, strip.width, largest, read_item, sums);
        mend_infinite_sums(split, strip.width, largest, read_item, sums);
        load_tile(outputs_of(grad, strip), strip.width, factors);
        for (int64_t j = 0; j < strip.width; ++j) factors[j] /= sums[j];
        split.for_each_item([&](int64_t item) {
          alignas(64) C tile[kStripWidth<C>];
          const Strided target = moved(out.terms().run_at(item, 1).elements, strip.in_offset, strip.in_stride);
          write_row<C>(target, strip.width, [&](C* HWY_RESTRICT row) {
            exp_of_differences(read_item(item, tile), largest, strip.width, row);
            for (int64_t j = 0; j < strip.width; ++j) row[j] *= factors[j];
          });
        });
      });
}

template <class C>
void spread_rows(ThreadPool& pool, const View& grad, const View& in, const View& grad_in) {
  const ReducedRows rows(in, grad);
  const Layout grads(rows.of(grad)), from(rows.of(in)), to(rows.of(grad_in));
  for_each_row_range(pool, rows.rows, rows.length, [&](int64_t first, int64_t last) {
    TileReader<C> grad_reader(grads), reader(from);
    TileWriter<C> writer(to);
    for (int64_t row = first; row < last; ++row) {
      const int64_t begin = row * rows.length;
      LogSumExp<C> parts = log_sum_exp(reader, begin, rows.length);
      if (std::isinf(parts.largest)) {
        parts.sum = sum_beside_infinity(log_sum_exp_of_row(reader, begin, rows.length));
      }
      const C factor = *grad_reader.read(row, 1) / parts.sum;
      for_each_tile<C>(rows.length, [&](int64_t offset, int64_t count) {
        C* tile = writer.tile(begin + offset, count);
        exp_of_difference(reader.read(begin + offset, count), parts.largest, count, tile);
        for (int64_t i = 0; i < count; ++i) tile[i] *= factor;
        writer.commit(begin + offset, count);
      });
    }
  });
}

}  // namespace

void reduce_log_sum_exp(ThreadPool& pool, const View& in, const View& out) {
  const auto reduce = [&]<class C>() {
    const SumPlan plan(in, out, kStripWidth<C>);
    if (has_wide_strips(plan)) return reduce_columns<C>(pool, plan, out);
    reduce_rows<C>(pool, in, out);
  };
  if (in.dtype == DType::kF64 || out.dtype == DType::kF64) return reduce.template operator()<double>();
  reduce.template operator()<float>();
}

void spread_log_sum_exp(ThreadPool& pool, const View& grad, const View& in, const View& grad_in) {
  const auto spread = [&]<class C>() {
    const SumPlan plan(in, grad, kStripWidth<C>);
    if (has_wide_strips(plan) && have_same_strides(in, grad_in)) {
      return spread_columns<C>(pool, plan, grad, SumPlan(grad_in, grad, kStripWidth<C>));
    }
    spread_rows<C>(pool, grad, in, grad_in);
  };
  if (in.dtype == DType::kF64) return spread.template operator()<double>();
  spread.template operator()<float>();
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(reduce_log_sum_exp);
HWY_EXPORT(spread_log_sum_exp);

Status log_sum_exp(Stream& stream, const View& in, const View& out) noexcept {
  HWY_DYNAMIC_DISPATCH(reduce_log_sum_exp)(pool_of(stream), in, out);
  return {};
}

Status log_sum_exp_backward(Stream& stream, const View& grad, const View& in, const View& grad_in) noexcept {
  HWY_DYNAMIC_DISPATCH(spread_log_sum_exp)(pool_of(stream), grad, in, grad_in);
  return {};
}

}  // namespace halftone::cpu
#endif
