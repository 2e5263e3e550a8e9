#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/elementwise/affine.cpp"
#include "cpu/device.h"
#include "cpu/elementwise/entries.h"
#include "cpu/simd/ranges.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/elementwise/map.h"
#include "cpu/simd/vectors.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// Product and sum are rounded separately, so that every instruction set gives the same bits (some have no FMA).
template <class C>
void affine_elements(double scale, double shift, const Layout& x, const Layout& out, int64_t begin, int64_t end) {
  const hn::ScalableTag<C> d;
  const auto factor = hn::Set(d, static_cast<C>(scale));
  const auto addend = hn::Set(d, static_cast<C>(shift));
  const auto row = [=](const C* in, C* result, int64_t count) HWY_ATTR {
    for_each_vector(
        d, count, [=](auto value) HWY_ATTR { return hn::Add(hn::Mul(value, factor), addend); }, result, in);
  };
  map_range<C>(row, out, begin, end, x);
}

void affine_range(double scale, double shift, const Layout& x, const Layout& out, int64_t begin, int64_t end) {
  if (out.dtype() == DType::kF64) return affine_elements<double>(scale, shift, x, out, begin, end);
  affine_elements<float>(scale, shift, x, out, begin, end);
}

}  // namespace
}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(affine_range);

Status affine(Stream& stream, double scale, double shift, const View& x, const View& out) noexcept {
  if (!is_float(out.dtype)) {
    return Status::failure(Code::kUnsupported, "affine has no kernel for %s", name_of(out.dtype));
  }
  const Layout x_layout(x);
  const Layout out_layout(out);
  const auto range = HWY_DYNAMIC_DISPATCH(affine_range);
  for_each_range(pool_of(stream), out.numel(),
                 [&](int64_t begin, int64_t end) { range(scale, shift, x_layout, out_layout, begin, end); });
  return {};
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
