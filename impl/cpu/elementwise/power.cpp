#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/elementwise/power.cpp"
// Powers by one double, which stays one where the elements are FP32 and narrower.
#include <cmath>

#include "cpu/device.h"
#include "cpu/elementwise/entries.h"
#include "cpu/simd/ranges.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/elementwise/map.h"
#include "cpu/math/power.h"
#include "cpu/simd/vectors.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

void powers(OneExponent exponent, const Layout& x, const Layout& out, int64_t begin, int64_t end) {
  const hn::ScalableTag<float> d;
  const auto row = [=](const float* in, float* result, int64_t count) HWY_ATTR {
    for_each_vector(
        d, count, [=](auto value) HWY_ATTR { return power(d, value, exponent); }, result, in);
  };
  map_range<float>(row, out, begin, end, x);
}

// `views` are gradient, input and output. The slope of a square needs no power.
void power_gradients(OneExponent exponent, const Layout* views, int64_t begin, int64_t end) {
  const hn::ScalableTag<float> d;
  const auto square_row = [=](const float* grad, const float* in, float* result, int64_t count) HWY_ATTR {
    const auto gradient = [=](auto g, auto x) HWY_ATTR { return hn::Mul(hn::Mul(g, x), hn::Set(d, 2.0f)); };
    for_each_vector(d, count, gradient, result, grad, in);
  };
  const auto row = [=](const float* grad, const float* in, float* result, int64_t count) HWY_ATTR {
    const auto gradient = [=](auto g, auto x) HWY_ATTR { return power_base_gradient(d, g, x, exponent); };
    for_each_vector(d, count, gradient, result, grad, in);
  };
  if (exponent.value == 2) return map_range<float>(square_row, views[2], begin, end, views[0], views[1]);
  map_range<float>(row, views[2], begin, end, views[0], views[1]);
}

}  // namespace
}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(powers);
HWY_EXPORT(power_gradients);

namespace {

constexpr int64_t kGrain = kChunkSize / 4;

bool is_one_element(const View& view) {
  if (view.numel() == 0) return false;
  for (int dim = 0; dim < view.rank(); ++dim) {
    if (view.shape[dim] != 1 && view.strides[dim] != 0) return false;
  }
  return true;
}

double exponent_of(const View& view) { return *static_cast<const double*>(view.data); }

}  // namespace

bool is_one_wide_exponent(const View& exponent, const View& out) noexcept {
  return exponent.dtype == DType::kF64 && is_float(out.dtype) && out.dtype != DType::kF64 && is_one_element(exponent) &&
         std::isfinite(exponent_of(exponent));
}

Status power(Stream& stream, const View& x, const View& exponent, const View& out) noexcept {
  const Layout x_layout(x), out_layout(out);
  const OneExponent y(exponent_of(exponent));
  const auto range = HWY_DYNAMIC_DISPATCH(powers);
  for_each_range(pool_of(stream), out.numel(), kGrain,
                 [&](int64_t begin, int64_t end) { range(y, x_layout, out_layout, begin, end); });
  return {};
}

Status power_backward(Stream& stream, const View& grad_output, const View& x, const View& exponent,
                      const View& out) noexcept {
  const Layout views[] = {Layout(grad_output), Layout(x), Layout(out)};
  const OneExponent y(exponent_of(exponent));
  const auto range = HWY_DYNAMIC_DISPATCH(power_gradients);
  for_each_range(pool_of(stream), out.numel(), kGrain,
                 [&](int64_t begin, int64_t end) { range(y, views, begin, end); });
  return {};
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
