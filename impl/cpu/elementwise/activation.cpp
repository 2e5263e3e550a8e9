#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/elementwise/activation.cpp"
#include "backend/formula/elu.h"
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

// The slope is rounded to the compute type. NaN is not above 0, so it is multiplied and stays.
template <class C>
void leak(double slope, const Layout& x, const Layout& out, int64_t begin, int64_t end) {
  const hn::ScalableTag<C> d;
  const auto factor = hn::Set(d, static_cast<C>(slope));
  const auto row = [=](const C* in, C* result, int64_t count) HWY_ATTR {
    const auto leaked = [=](auto value) HWY_ATTR {
      return hn::IfThenElse(hn::Gt(value, hn::Zero(d)), value, hn::Mul(value, factor));
    };
    for_each_vector(d, count, leaked, result, in);
  };
  map_range<C>(row, out, begin, end, x);
}

// `views`: gradient, input, output.
template <class C>
void leak_gradients(double slope, const Layout* views, int64_t begin, int64_t end) {
  const hn::ScalableTag<C> d;
  const auto factor = hn::Set(d, static_cast<C>(slope));
  const auto row = [=](const C* grad, const C* in, C* result, int64_t count) HWY_ATTR {
    const auto leaked = [=](auto gradient, auto value) HWY_ATTR {
      return hn::IfThenElse(hn::Gt(value, hn::Zero(d)), gradient, hn::Mul(gradient, factor));
    };
    for_each_vector(d, count, leaked, result, grad, in);
  };
  map_range<C>(row, views[2], begin, end, views[0], views[1]);
}

// In double, whatever the dtype, one element at a time: the exponentials are libm's.
template <class C>
void bend(double alpha, const Layout& x, const Layout& out, int64_t begin, int64_t end) {
  const auto row = [=](const C* HWY_RESTRICT in, C* HWY_RESTRICT result, int64_t count) {
    for (int64_t i = 0; i < count; ++i) result[i] = static_cast<C>(elu(static_cast<double>(in[i]), alpha));
  };
  map_range<C>(row, out, begin, end, x);
}

template <class C>
void bend_gradients(double alpha, const Layout* views, int64_t begin, int64_t end) {
  const auto row = [=](const C* HWY_RESTRICT grad, const C* HWY_RESTRICT in, C* HWY_RESTRICT result, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const double slope = elu_derivative(static_cast<double>(in[i]), alpha);
      result[i] = static_cast<C>(static_cast<double>(grad[i]) * slope);
    }
  };
  map_range<C>(row, views[2], begin, end, views[0], views[1]);
}

template <class C>
void activate(const Activation& activation, const Layout& x, const Layout& out, int64_t begin, int64_t end) {
  const bool leaks = activation.op == ActivationOp::kLeakyRelu;
  return (leaks ? leak<C> : bend<C>)(activation.number, x, out, begin, end);
}

template <class C>
void differentiate(const Activation& activation, const Layout* views, int64_t begin, int64_t end) {
  const bool leaks = activation.op == ActivationOp::kLeakyRelu;
  return (leaks ? leak_gradients<C> : bend_gradients<C>)(activation.number, views, begin, end);
}

void activation_range(const Activation& activation, const Layout& x, const Layout& out, int64_t begin, int64_t end) {
  if (out.dtype() == DType::kF64) return activate<double>(activation, x, out, begin, end);
  activate<float>(activation, x, out, begin, end);
}

// `views`: gradient, input, output.
void activation_backward_range(const Activation& activation, const Layout* views, int64_t begin, int64_t end) {
  if (views[2].dtype() == DType::kF64) return differentiate<double>(activation, views, begin, end);
  differentiate<float>(activation, views, begin, end);
}

}  // namespace
}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(activation_range);
HWY_EXPORT(activation_backward_range);

namespace {

int64_t grain_of(ActivationOp op) { return op == ActivationOp::kLeakyRelu ? kChunkSize : kChunkSize / 4; }

Status no_activation_of(DType dtype) {
  return Status::failure(Code::kUnsupported, "an activation has no kernel for %s", name_of(dtype));
}

}  // namespace

Status activation(Stream& stream, const Activation& activation, const View& x, const View& out) noexcept {
  if (!is_float(out.dtype)) return no_activation_of(out.dtype);
  const Layout x_layout(x);
  const Layout out_layout(out);
  const auto range = HWY_DYNAMIC_DISPATCH(activation_range);
  for_each_range(pool_of(stream), out.numel(), grain_of(activation.op),
                 [&](int64_t begin, int64_t end) { range(activation, x_layout, out_layout, begin, end); });
  return {};
}

Status activation_backward(Stream& stream, const Activation& activation, const View& grad_output, const View& x,
                           const View& out) noexcept {
  if (!is_float(out.dtype)) return no_activation_of(out.dtype);
  const Layout views[] = {Layout(grad_output), Layout(x), Layout(out)};
  const auto range = HWY_DYNAMIC_DISPATCH(activation_backward_range);
  for_each_range(pool_of(stream), out.numel(), grain_of(activation.op),
                 [&](int64_t begin, int64_t end) { range(activation, views, begin, end); });
  return {};
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
