#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/reduce/log_sum_exp.cpp"
#include <cmath>

#include "backend/cpu/cpu_device.h"
#include "backend/cpu/norm/rows.h"
#include "backend/cpu/reduce/entries.h"
#include "backend/cpu/reduce/reduced_rows.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "backend/cpu/norm/row_math.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// Where the largest is infinite differences to it would be NaN: exp and log pass infinities by themselves.
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

template <class C>
void spread_rows(ThreadPool& pool, const View& grad, const View& in, const View& grad_in) {
  const ReducedRows rows(in, grad);
  const Layout grads(rows.of(grad)), from(rows.of(in)), to(rows.of(grad_in));
  for_each_row_range(pool, rows.rows, rows.length, [&](int64_t first, int64_t last) {
    TileReader<C> grad_reader(grads), reader(from);
    TileWriter<C> writer(to);
    for (int64_t row = first; row < last; ++row) {
      const int64_t begin = row * rows.length;
      const LogSumExp<C> parts = log_sum_exp(reader, begin, rows.length);
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
  const bool wide = in.dtype == DType::kF64 || out.dtype == DType::kF64;
  (wide ? reduce_rows<double> : reduce_rows<float>)(pool, in, out);
}

void spread_log_sum_exp(ThreadPool& pool, const View& grad, const View& in, const View& grad_in) {
  (in.dtype == DType::kF64 ? spread_rows<double> : spread_rows<float>)(pool, grad, in, grad_in);
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
