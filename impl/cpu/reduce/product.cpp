#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/reduce/product.cpp"
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
void product_as(ThreadPool& pool, const View& in, const View& out) {
  const Strided whole = {static_cast<std::byte*>(out.data), out.dtype, 1};
  fold_strips<Times, C>(pool, in, out, [&](const Strip& strip, const C* products) {
    store_tile(products, strip.width, moved(whole, strip.out_offset, strip.out_stride));
  });
}

}  // namespace

void fold_products(ThreadPool& pool, const View& in, const View& out) {
  if (is_float(in.dtype) || is_float(out.dtype)) return product_as<double>(pool, in, out);
  product_as<int64_t>(pool, in, out);
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(fold_products);

Status product(Stream& stream, const View& in, const View& out) noexcept {
  HWY_DYNAMIC_DISPATCH(fold_products)(pool_of(stream), in, out);
  return {};
}

}  // namespace halftone::cpu
#endif
