#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/elementwise/clamp.cpp"
#include <cmath>
#include <limits>

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

// Bounds are rounded to the compute type. NaN compares false with both bounds, so it stays.
template <class C>
void clamp_elements(const Bounds& bounds, const Layout& x, const Layout& out, int64_t begin, int64_t end) {
  const hn::ScalableTag<C> d;
  const auto low = hn::Set(d, static_cast<C>(bounds.low));
  const auto high = hn::Set(d, static_cast<C>(bounds.high));
  const auto row = [=](const C* in, C* result, int64_t count) HWY_ATTR {
    const auto within = [=](auto value) HWY_ATTR {
      const auto raised = hn::IfThenElse(hn::Lt(value, low), low, value);
      return hn::IfThenElse(hn::Gt(raised, high), high, raised);
    };
    for_each_vector(d, count, within, result, in);
  };
  map_range<C>(row, out, begin, end, x);
}

// The numbers are rounded to the compute type.
template <class C>
void replace_elements(const Replacements& by, const Layout& x, const Layout& out, int64_t begin, int64_t end) {
  const hn::ScalableTag<C> d;
  const auto infinity = hn::Set(d, std::numeric_limits<C>::infinity());
  const auto nan = hn::Set(d, static_cast<C>(by.nan));
  const auto positive = hn::Set(d, static_cast<C>(by.positive));
  const auto negative = hn::Set(d, static_cast<C>(by.negative));
  const auto row = [=](const C* in, C* result, int64_t count) HWY_ATTR {
    const auto replaced = [=](auto value) HWY_ATTR {
      const auto of_infinity = hn::IfThenElse(hn::Lt(value, hn::Zero(d)), negative, positive);
      const auto number = hn::IfThenElse(hn::Eq(hn::Abs(value), infinity), of_infinity, value);
      return hn::IfThenElse(hn::IsNaN(value), nan, number);
    };
    for_each_vector(d, count, replaced, result, in);
  };
  map_range<C>(row, out, begin, end, x);
}

// The next representable number after a bound towards `towards`: the first that is not on the bound. An infinite bound
// is no bound, so it is returned as it is.
template <class C>
C beyond(double bound, C towards) {
  const C rounded = static_cast<C>(bound);
  return std::isinf(rounded) ? rounded : std::nextafter(rounded, towards);
}

// The gradient at a bound is 0.
template <class C>
void clamp_gradients(const Bounds& bounds, const Layout* views, int64_t begin, int64_t end) {
  constexpr C infinity = std::numeric_limits<C>::infinity();
  const hn::ScalableTag<C> d;
  const auto low = hn::Set(d, beyond(bounds.low, infinity));
  const auto high = hn::Set(d, beyond(bounds.high, -infinity));
  const auto row = [=](const C* grad, const C* in, C* result, int64_t count) HWY_ATTR {
    const auto passed = [=](auto gradient, auto value) HWY_ATTR {
      return hn::IfThenElseZero(hn::And(hn::Ge(value, low), hn::Le(value, high)), gradient);
    };
    for_each_vector(d, count, passed, result, grad, in);
  };
  map_range<C>(row, views[2], begin, end, views[0], views[1]);
}

void clamp_range(const Bounds& bounds, const Layout& x, const Layout& out, int64_t begin, int64_t end) {
  if (out.dtype() == DType::kF64) return clamp_elements<double>(bounds, x, out, begin, end);
  clamp_elements<float>(bounds, x, out, begin, end);
}

void nan_to_num_range(const Replacements& by, const Layout& x, const Layout& out, int64_t begin, int64_t end) {
  if (out.dtype() == DType::kF64) return replace_elements<double>(by, x, out, begin, end);
  replace_elements<float>(by, x, out, begin, end);
}

// `views`: gradient, input, output.
void clamp_backward_range(const Bounds& bounds, const Layout* views, int64_t begin, int64_t end) {
  if (views[2].dtype() == DType::kF64) return clamp_gradients<double>(bounds, views, begin, end);
  clamp_gradients<float>(bounds, views, begin, end);
}

}  // namespace
}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(clamp_range);
HWY_EXPORT(clamp_backward_range);
HWY_EXPORT(nan_to_num_range);

namespace {

Status not_a_float(const char* operation, DType dtype) {
  return Status::failure(Code::kUnsupported, "%s has no kernel for %s", operation, name_of(dtype));
}

}  // namespace

Status clamp(Stream& stream, const Bounds& bounds, const View& x, const View& out) noexcept {
  if (!is_float(out.dtype)) return not_a_float("clamp", out.dtype);
  const Layout x_layout(x);
  const Layout out_layout(out);
  const auto range = HWY_DYNAMIC_DISPATCH(clamp_range);
  for_each_range(pool_of(stream), out.numel(),
                 [&](int64_t begin, int64_t end) { range(bounds, x_layout, out_layout, begin, end); });
  return {};
}

Status clamp_backward(Stream& stream, const Bounds& bounds, const View& grad_output, const View& x,
                      const View& out) noexcept {
  if (!is_float(out.dtype)) return not_a_float("clamp", out.dtype);
  const Layout views[] = {Layout(grad_output), Layout(x), Layout(out)};
  const auto range = HWY_DYNAMIC_DISPATCH(clamp_backward_range);
  for_each_range(pool_of(stream), out.numel(), [&](int64_t begin, int64_t end) { range(bounds, views, begin, end); });
  return {};
}

Status nan_to_num(Stream& stream, const Replacements& by, const View& x, const View& out) noexcept {
  if (!is_float(out.dtype)) return not_a_float("nan_to_num", out.dtype);
  const Layout x_layout(x);
  const Layout out_layout(out);
  const auto range = HWY_DYNAMIC_DISPATCH(nan_to_num_range);
  for_each_range(pool_of(stream), out.numel(),
                 [&](int64_t begin, int64_t end) { range(by, x_layout, out_layout, begin, end); });
  return {};
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
