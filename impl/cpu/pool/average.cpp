// Averages of windows. The rows of a window are added first, along whole rows of the plane, in plain loops that the
// compiler vectorises for each instruction set.
#include <algorithm>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/pool/average.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "core/type_list.h"
#include "cpu/device.h"
#include "cpu/pool/entries.h"
#include "cpu/pool/spans.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu {
namespace HWY_NAMESPACE {

// Columns of the input whose sums are kept in L1; a wider window is added piece by piece.
constexpr int64_t kColumns = 512;

template <class T>
using ComputeType = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T>
T narrowed(ComputeType<T> value) {
  if constexpr (requires { T::from(0.0f); }) {
    return T::from(value);
  } else {
    return value;
  }
}

// sums[x] = the sum of column x over the rows of `span`, for columns [begin, end).
template <class T, class C>
void add_rows(const View& input, const T* plane, const Span& span, int64_t begin, int64_t end, C* sums) {
  const int64_t step = input.strides[3];
  std::fill_n(sums, end - begin, C{0});
  for (int64_t y = span.begin; y < span.end; ++y) {
    const T* row = plane + y * input.strides[2] + begin * step;
    if (step == 1) {
      for (int64_t x = 0; x < end - begin; ++x) sums[x] += static_cast<C>(row[x]);
    } else {
      for (int64_t x = 0; x < end - begin; ++x) sums[x] += static_cast<C>(row[x * step]);
    }
  }
}

// The averages of one row of windows. Consecutive windows share column sums: a window inside the current piece of
// columns uses its sums; any other window starts a new piece, and more pieces if it is wider than one.
template <class T, class C>
void average_row(const PoolArgs& args, const T* plane, const Span& rows, T* out) {
  C sums[kColumns];
  int64_t begin = 0;
  int64_t end = 0;
  for (int64_t x = 0; x < args.output.shape[3]; ++x) {
    const Span columns = span_at(args, 1, x);
    C sum = 0;
    for (int64_t done = columns.begin; done < columns.end;) {
      if (done < begin || done >= end || (columns.end > end && columns.begin > begin)) {
        begin = done;
        end = std::min(begin + kColumns, args.input.shape[3]);
        add_rows(args.input, plane, rows, begin, end, sums);
      }
      const int64_t stop = std::min(columns.end, end);
      for (; done < stop; ++done) sum += sums[done - begin];
    }
    out[x] = narrowed<T>(sum / static_cast<C>(rows.counted * columns.counted));
  }
}

template <class T>
void average_plane(const PoolArgs& args, int64_t plane) {
  const T* in = plane_at<T>(args.input, plane);
  T* out = plane_at<T>(args.output, plane);
  for (int64_t y = 0; y < args.output.shape[2]; ++y) {
    average_row<T, ComputeType<T>>(args, in, span_at(args, 0, y), out + y * args.output.shape[3]);
  }
}

// Adds each output's gradient, divided by its count, to every element of its window.
template <class T>
void spread_average(const PoolArgs& args, int64_t plane) {
  using C = ComputeType<T>;
  const int64_t width = args.input.shape[3];
  const T* grad = plane_at<T>(args.output, plane);
  C* out = plane_at<C>(args.input, plane);
  std::fill_n(out, args.input.shape[2] * width, C{0});
  for (int64_t y = 0; y < args.output.shape[2]; ++y) {
    const Span rows = span_at(args, 0, y);
    for (int64_t x = 0; x < args.output.shape[3]; ++x) {
      const Span columns = span_at(args, 1, x);
      const C share = static_cast<C>(*grad++) / static_cast<C>(rows.counted * columns.counted);
      for (int64_t i = rows.begin; i < rows.end; ++i) {
        for (int64_t j = columns.begin; j < columns.end; ++j) out[i * width + j] += share;
      }
    }
  }
}

void average_planes(ThreadPool& pool, const PoolArgs& args) {
  try_visit_dtype(FloatTypes{}, args.output.dtype, [&]<class T>() {
    for_each_plane(pool, args, [&](int64_t plane) { average_plane<T>(args, plane); });
  });
}

void spread_averages(ThreadPool& pool, const PoolArgs& args) {
  try_visit_dtype(FloatTypes{}, args.output.dtype, [&]<class T>() {
    for_each_plane(pool, args, [&](int64_t plane) { spread_average<T>(args, plane); });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace halftone::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace halftone::cpu {
namespace {

HWY_EXPORT(average_planes);
HWY_EXPORT(spread_averages);

}  // namespace

Status average_pool(Stream& stream, const PoolArgs& args) noexcept {
  HWY_DYNAMIC_DISPATCH(average_planes)(pool_of(stream), args);
  return {};
}

Status average_pool_backward(Stream& stream, const PoolArgs& args) noexcept {
  HWY_DYNAMIC_DISPATCH(spread_averages)(pool_of(stream), args);
  return {};
}

}  // namespace halftone::cpu

#endif  // HWY_ONCE
