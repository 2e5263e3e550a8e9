#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/reduce/vector_norm.cpp"
#include <cmath>

#include "cpu/device.h"
#include "cpu/reduce/entries.h"
#include "cpu/rows/repeated.h"
#include "cpu/simd/ranges.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/elementwise/map.h"
#include "cpu/rows/strip_fold.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// The terms of the sum for an element; the usual powers without a call of pow.
struct IsNotZero {
  HWY_INLINE double operator()(double x, int64_t) const { return x != 0 ? 1 : 0; }
};
struct Magnitude {
  HWY_INLINE double operator()(double x, int64_t) const { return std::fabs(x); }
};
struct Square {
  HWY_INLINE double operator()(double x, int64_t) const { return x * x; }
};
struct PowerOfMagnitude {
  double p;
  HWY_INLINE double operator()(double x, int64_t) const { return std::pow(std::fabs(x), p); }
};

template <class Term, class Root>
void fold_powers(ThreadPool& pool, const View& in, const View& out, const Term& term, const Root& root) {
  const Strided whole = {static_cast<std::byte*>(out.data), out.dtype, 1};
  const SumPlan plan(in, out, kStripWidth<double>);
  with_strips<Plus, double>(pool, plan, [&](const Strip& strip, auto&& fold_terms) {
    alignas(64) double sums[kStripWidth<double>];
    fold_terms(term, sums);
    for (int64_t i = 0; i < strip.width; ++i) sums[i] = root(sums[i]);
    store_tile(sums, strip.width, moved(whole, strip.out_offset, strip.out_stride));
  });
}

// The gradient of an element x of a norm n. A norm of 0 has elements of 0 only; their gradient is 0.
double norm_slope(double p, double x, double n) {
  if (x == 0 || p == 0) return 0;
  const double share = p == 1 ? 1 : p == 2 ? std::fabs(x) / n : std::pow(std::fabs(x) / n, p - 1);
  return x != x ? x : std::copysign(share, x);
}

}  // namespace

void norms_of_strips(ThreadPool& pool, double p, const View& in, const View& out) {
  const auto same = [](double sum) { return sum; };
  if (p == 0) return fold_powers(pool, in, out, IsNotZero(), same);
  if (p == 1) return fold_powers(pool, in, out, Magnitude(), same);
  if (p == 2) return fold_powers(pool, in, out, Square(), [](double sum) { return std::sqrt(sum); });
  fold_powers(pool, in, out, PowerOfMagnitude{p}, [p](double sum) { return std::pow(sum, 1 / p); });
}

// `views`: gradient, input, norms, output.
void norm_gradients(double p, const Layout* views, int64_t begin, int64_t end) {
  const auto row = [=](const double* HWY_RESTRICT g, const double* HWY_RESTRICT x, const double* HWY_RESTRICT n,
                       double* HWY_RESTRICT result, int64_t count) {
    for (int64_t i = 0; i < count; ++i) result[i] = g[i] * norm_slope(p, x[i], n[i]);
  };
  map_range<double>(row, views[3], begin, end, views[0], views[1], views[2]);
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(norms_of_strips);
HWY_EXPORT(norm_gradients);

Status vector_norm(Stream& stream, double p, const View& in, const View& out) noexcept {
  HWY_DYNAMIC_DISPATCH(norms_of_strips)(pool_of(stream), p, in, out);
  return {};
}

Status vector_norm_backward(Stream& stream, double p, const View& grad, const View& in, const View& norms,
                            const View& grad_in) noexcept {
  const Layout views[] = {Layout(repeated(grad, in.shape)), Layout(in), Layout(repeated(norms, in.shape)),
                          Layout(grad_in)};
  const auto range = HWY_DYNAMIC_DISPATCH(norm_gradients);
  for_each_range(pool_of(stream), grad_in.numel(), kChunkSize / 4,
                 [&](int64_t begin, int64_t end) { range(p, views, begin, end); });
  return {};
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
