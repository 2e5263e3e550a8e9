#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/reduce/vector_norm.cpp"
#include "backend/formula/vector_norm.h"

#include <cmath>

#include "backend/geometry/repeated.h"
#include "cpu/device.h"
#include "cpu/reduce/entries.h"
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

struct PowerOfShare {
  double p;
  double unit;
  HWY_INLINE double operator()(double x, int64_t) const { return power_of_share(p, x, unit); }
};

// The norm of one output whose powers leave the range.
HWY_NOINLINE double norm_out_of_range(double p, const SumPlan& plan, const Strip& strip, int64_t output) {
  const auto fold_terms = [&]<class Combine>(const auto& term) {
    return fold_row<Combine, double>(plan, strip, output, 0, plan.term_count(), term);
  };
  const double unit = p > 0 ? fold_terms.template operator()<Larger>(Magnitude())
                            : fold_terms.template operator()<Smaller>(Magnitude());
  return norm_of_shares(p, unit, fold_terms.template operator()<Plus>(PowerOfShare{p, unit}));
}

template <class Term>
void fold_powers(ThreadPool& pool, double p, const View& in, const View& out, const Term& term) {
  const Strided whole = {static_cast<std::byte*>(out.data), out.dtype, 1};
  const SumPlan plan(in, out, kStripWidth<double>);
  const bool is_checked = plan.term_count() > 0 && may_leave_range(p, in.dtype == DType::kF64);
  with_strips<Plus, double>(pool, plan, [&](const Strip& strip, auto&& fold_terms) {
    alignas(64) double sums[kStripWidth<double>];
    fold_terms(term, sums);
    for (int64_t i = 0; i < strip.width; ++i) {
      const bool is_out = is_checked && leaves_range<double>(sums[i], 0.0);
      sums[i] = is_out ? norm_out_of_range(p, plan, strip, i) : norm_of_sum(p, sums[i]);
    }
    store_tile(sums, strip.width, moved(whole, strip.out_offset, strip.out_stride));
  });
}

}  // namespace

void norms_of_strips(ThreadPool& pool, double p, const View& in, const View& out) {
  if (p == 0) return fold_powers(pool, p, in, out, IsNotZero());
  if (p == 1) return fold_powers(pool, p, in, out, Magnitude());
  if (p == 2) return fold_powers(pool, p, in, out, Square());
  fold_powers(pool, p, in, out, PowerOfMagnitude{p});
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
