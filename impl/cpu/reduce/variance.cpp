#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/reduce/variance.cpp"
#include <cmath>
#include <limits>

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

// A term minus its output's reference value, and the square of that.
struct Deviation {
  const double* from;
  HWY_INLINE double operator()(double element, int64_t output) const { return element - from[output]; }
};
struct SquaredDeviation {
  const double* from;
  HWY_INLINE double operator()(double element, int64_t output) const {
    const double deviation = element - from[output];
    return deviation * deviation;
  }
};

// The mean, computed as the first term plus the mean distance to it. If all terms are equal this is exact, so their
// variance is 0.
template <class Fold>
void find_means(const Strided& first_terms, int64_t width, int64_t count, Fold&& fold_terms, double* means) {
  if (count == 0) return std::fill(means, means + width, std::numeric_limits<double>::quiet_NaN());
  alignas(64) double distances[kStripWidth<double>];
  load_tile(first_terms, width, means);
  fold_terms(Deviation{means}, distances);
  for (int64_t i = 0; i < width; ++i) means[i] += distances[i] / static_cast<double>(count);
}

}  // namespace

void variance_of_strips(ThreadPool& pool, const Variance& variance, const View& in, const View& means,
                        const View& out) {
  const SumPlan plan(in, out, kStripWidth<double>);
  const auto part_of = [](const View& view, int64_t offset, int64_t stride) {
    return moved({static_cast<std::byte*>(view.data), view.dtype, 1}, offset, stride);
  };
  with_strips<Plus, double>(pool, plan, [&](const Strip& strip, auto&& fold_terms) {
    alignas(64) double centres[kStripWidth<double>];
    alignas(64) double squares[kStripWidth<double>];
    find_means(part_of(in, strip.in_offset, strip.in_stride), strip.width, plan.term_count(), fold_terms, centres);
    fold_terms(SquaredDeviation{centres}, squares);
    for (int64_t i = 0; i < strip.width; ++i) {
      const double quotient = plan.term_count() == 0 ? centres[i] : squares[i] / variance.divisor;
      squares[i] = variance.takes_root ? std::sqrt(quotient) : quotient;
    }
    store_tile(centres, strip.width, part_of(means, strip.out_offset, strip.out_stride));
    store_tile(squares, strip.width, part_of(out, strip.out_offset, strip.out_stride));
  });
}

void variance_gradient(double factor, const Layout& grad, const Layout& in, const Layout& means, const Layout& grad_in,
                       int64_t begin, int64_t end) {
  const auto row = [=](const double* HWY_RESTRICT g, const double* HWY_RESTRICT x, const double* HWY_RESTRICT mean,
                       double* HWY_RESTRICT result, int64_t count) {
    for (int64_t i = 0; i < count; ++i) result[i] = factor * g[i] * (x[i] - mean[i]);
  };
  map_range<double>(row, grad_in, begin, end, grad, in, means);
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(variance_of_strips);
HWY_EXPORT(variance_gradient);

Status variance(Stream& stream, const Variance& variance, const View& in, const View& means, const View& out) noexcept {
  HWY_DYNAMIC_DISPATCH(variance_of_strips)(pool_of(stream), variance, in, means, out);
  return {};
}

Status variance_backward(Stream& stream, double factor, const View& grad, const View& in, const View& means,
                         const View& grad_in) noexcept {
  const Layout grads(repeated(grad, in.shape)), from(in), centres(repeated(means, in.shape)), to(grad_in);
  const auto range = HWY_DYNAMIC_DISPATCH(variance_gradient);
  for_each_range(pool_of(stream), grad_in.numel(),
                 [&](int64_t begin, int64_t end) { range(factor, grads, from, centres, to, begin, end); });
  return {};
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
