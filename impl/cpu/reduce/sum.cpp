#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/reduce/sum.cpp"
#include "cpu/device.h"
#include "cpu/reduce/entries.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/rows/strip_fold.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

template <class C>
void sum_as(ThreadPool& pool, const View& in, double scale, Store store, const View& out) {
  const Strided whole = {static_cast<std::byte*>(out.data), out.dtype, 1};
  fold_strips<Plus, C>(pool, in, out, [&](const Strip& strip, C* sums) {
    const Strided part = moved(whole, strip.out_offset, strip.out_stride);
    alignas(64) C previous[kStripWidth<C>];
    if (store == Store::kAdd) load_tile(part, strip.width, previous);
    for (int64_t i = 0; i < strip.width; ++i) {
      // Scaled in double, so that FP32 sums are rounded once.
      if constexpr (!std::is_integral_v<C>) sums[i] = static_cast<C>(static_cast<double>(sums[i]) * scale);
      if (store == Store::kAdd) sums[i] = plus(previous[i], sums[i]);
    }
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
