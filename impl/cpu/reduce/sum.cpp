#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/reduce/sum.cpp"
#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/device.h"
#include "cpu/reduce/entries.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/rows/strip_fold.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// A term of a sum that has overflowed.
constexpr double kShare = 0x1p-64;
struct Share {
  HWY_INLINE double operator()(double x, int64_t) const { return kShare * x; }
};

// Multiplies the sums in double, so that FP32 sums are rounded once. Elements near C's largest number have a sum beyond
// it, but their mean is a number like them: such a sum is formed again.
template <class C>
void scale_sums(const SumPlan& plan, const Strip& strip, double scale, C* sums) {
  int overflows = 0;
  C scaled[kStripWidth<C>];
  for (int64_t i = 0; i < strip.width; ++i) {
    overflows |= static_cast<int>(!(std::fabs(sums[i]) <= std::numeric_limits<C>::max()));
    scaled[i] = static_cast<C>(static_cast<double>(sums[i]) * scale);
  }
  for (int64_t i = 0; overflows != 0 && i < strip.width; ++i) {
    if (std::isfinite(sums[i])) continue;
    const double sum = fold_row<Plus, double>(plan, strip, i, 0, plan.term_count(), Share());
    scaled[i] = static_cast<C>(sum * scale / kShare);
  }
  std::copy(scaled, scaled + strip.width, sums);
}

template <class C>
void sum_as(ThreadPool& pool, const View& in, double scale, Store store, const View& out) {
  const Strided whole = {static_cast<std::byte*>(out.data), out.dtype, 1};
  const SumPlan plan(in, out, kStripWidth<C>);
  with_strips<Plus, C>(pool, plan, [&](const Strip& strip, auto&& fold_terms) {
    alignas(64) C sums[kStripWidth<C>];
    fold_terms(Plain{}, sums);
    const Strided part = moved(whole, strip.out_offset, strip.out_stride);
    alignas(64) C previous[kStripWidth<C>];
    if (store == Store::kAdd) load_tile(part, strip.width, previous);
    if constexpr (!std::is_integral_v<C>) scale_sums(plan, strip, scale, sums);
    for (int64_t i = 0; store == Store::kAdd && i < strip.width; ++i) sums[i] = plus(previous[i], sums[i]);
    store_tile(sums, strip.width, part);
  });
}

}  // namespace

void sum(ThreadPool& pool, const View& in, double scale, Store store, const View& out) {
  const bool wide = in.dtype == DType::kF64 || out.dtype == DType::kF64;
  if (wide) return sum_as<double>(pool, in, scale, store, out);
  if (is_float(in.dtype) || is_float(out.dtype)) return sum_as<float>(pool, in, scale, store, out);
  sum_as<int64_t>(pool, in, scale, store, out);
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(sum);

Status sum(Stream& stream, const View& in, double scale, Store store, const View& out) noexcept {
  HWY_DYNAMIC_DISPATCH(sum)(pool_of(stream), in, scale, store, out);
  return {};
}

}  // namespace halftone::cpu
#endif
