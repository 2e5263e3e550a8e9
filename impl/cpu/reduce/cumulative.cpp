#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/reduce/cumulative.cpp"
#include <algorithm>

#include "cpu/device.h"
#include "cpu/reduce/entries.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/rows/strip_fold.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// The dimension along which sums or products run, in both views.
struct Way {
  Strided in, out;
  int64_t in_stride, out_stride;
  int64_t length;
  bool from_end;

  int64_t element(int64_t term) const { return from_end ? length - 1 - term : term; }
};

// Floats run in double.
template <class C>
using Running = std::conditional_t<std::is_integral_v<C>, int64_t, double>;

// Runs along one output row, a block at a time.
template <class Combine, class C>
void run_along_row(const Way& way, int64_t in_offset, int64_t out_offset) {
  alignas(64) C tile[kBlockSize];
  auto result = Combine::template kNone<Running<C>>;
  for (int64_t term = 0; term < way.length; term += kBlockSize) {
    const int64_t count = std::min(kBlockSize, way.length - term);
    const int64_t begin = way.from_end ? way.length - term - count : term;
    load_tile(moved(way.in, in_offset + begin * way.in_stride, way.in_stride), count, tile);
    for (int64_t i = 0; i < count; ++i) {
      C& element = tile[way.from_end ? count - 1 - i : i];
      result = Combine::of(result, static_cast<Running<C>>(element));
      element = static_cast<C>(result);
    }
    store_tile(tile, count, moved(way.out, out_offset + begin * way.out_stride, way.out_stride));
  }
}

// Runs along all rows of a strip together.
template <class Combine, class C>
void run_along_columns(const Way& way, const Strip& strip) {
  alignas(64) C tile[kStripWidth<C>];
  alignas(64) Running<C> results[kStripWidth<C>];
  std::fill_n(results, kStripWidth<C>, Combine::template kNone<Running<C>>);
  for (int64_t term = 0; term < way.length; ++term) {
    const int64_t at = way.element(term);
    load_tile(moved(way.in, strip.in_offset + at * way.in_stride, strip.in_stride), strip.width, tile);
    for (int64_t j = 0; j < strip.width; ++j) {
      results[j] = Combine::of(results[j], static_cast<Running<C>>(tile[j]));
      tile[j] = static_cast<C>(results[j]);
    }
    store_tile(tile, strip.width, moved(way.out, strip.out_offset + at * way.out_stride, strip.out_stride));
  }
}

template <class Combine, class C>
void run_as(ThreadPool& pool, const View& in, int dim, bool from_end, const View& out) {
  View starts = out;
  if (out.rank() > 0) starts.shape[dim] = 1;
  const Way way = {{static_cast<std::byte*>(in.data), in.dtype, 1},
                   {static_cast<std::byte*>(out.data), out.dtype, 1},
                   in.rank() > 0 ? in.strides[dim] : 1,
                   out.rank() > 0 ? out.strides[dim] : 1,
                   in.rank() > 0 ? in.shape[dim] : 1,
                   from_end};
  const SumPlan plan(in, starts, kStripWidth<C>);
  for_each_strip<C>(pool, plan, [&](const Strip& strip) {
    if (plan.by_columns()) return run_along_columns<Combine, C>(way, strip);
    for (int64_t i = 0; i < strip.width; ++i) {
      run_along_row<Combine, C>(way, strip.in_offset + i * strip.in_stride, strip.out_offset + i * strip.out_stride);
    }
  });
}

}  // namespace

void run_sums(ThreadPool& pool, const View& in, int dim, bool from_end, const View& out) {
  with_compute_type(out.dtype, [&]<class C>() { run_as<Plus, C>(pool, in, dim, from_end, out); });
}

void run_products(ThreadPool& pool, const View& in, int dim, const View& out) {
  with_compute_type(out.dtype, [&]<class C>() { run_as<Times, C>(pool, in, dim, false, out); });
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(run_sums);
HWY_EXPORT(run_products);

Status cumulative_sum(Stream& stream, const View& in, int dim, bool from_end, const View& out) noexcept {
  if (in.numel() == 0) return {};  // an empty tensor may have a row count that is too large to loop over
  HWY_DYNAMIC_DISPATCH(run_sums)(pool_of(stream), in, dim, from_end, out);
  return {};
}

Status cumulative_product(Stream& stream, const View& in, int dim, const View& out) noexcept {
  if (in.numel() == 0) return {};
  HWY_DYNAMIC_DISPATCH(run_products)(pool_of(stream), in, dim, out);
  return {};
}

}  // namespace halftone::cpu
#endif
