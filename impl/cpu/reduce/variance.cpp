#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/reduce/variance.cpp"
#include <cmath>
#include <limits>

#include "backend/formula/set_moments.h"
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

// Elements are multiplied, so that neither differences nor squares leave the range.
struct ScaledDeviation {
  double scale;
  double from;
  HWY_INLINE double operator()(double element, int64_t) const { return scale * element - from; }
};
struct ScaledSquare {
  ScaledDeviation deviation;
  HWY_INLINE double operator()(double element, int64_t output) const {
    return deviation(element, output) * deviation(element, output);
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

// The mean and the result of one output of f64 whose squares leave the range.
HWY_NOINLINE void measure_scaled(const Variance& variance, const SumPlan& plan, const Strip& strip, int64_t output,
                                 const Strided& first_term, double* mean, double* squares) {
  const double scale = scale_of_sums<double>(*squares);
  const auto sum = [&](const auto& term) {
    return fold_row<Plus, double>(plan, strip, output, 0, plan.term_count(), term);
  };
  double first;
  load_tile(first_term, 1, &first);
  const double centre =
      scale * first + sum(ScaledDeviation{scale, scale * first}) / static_cast<double>(plan.term_count());
  const double quotient = sum(ScaledSquare{{scale, centre}}) / variance.divisor;
  *mean = centre / scale;
  *squares = variance.takes_root ? std::sqrt(quotient) / scale : quotient / scale / scale;
}

}  // namespace

void variance_of_strips(ThreadPool& pool, const Variance& variance, const View& in, const View& means,
                        const View& out) {
  const SumPlan plan(in, out, kStripWidth<double>);
  const bool is_wide = in.dtype == DType::kF64 && plan.term_count() > 0;
  const auto part_of = [](const View& view, int64_t offset, int64_t stride) {
    return moved({static_cast<std::byte*>(view.data), view.dtype, 1}, offset, stride);
  };
  with_strips<Plus, double>(pool, plan, [&](const Strip& strip, auto&& fold_terms) {
    alignas(64) double centres[kStripWidth<double>];
    alignas(64) double squares[kStripWidth<double>];
    find_means(part_of(in, strip.in_offset, strip.in_stride), strip.width, plan.term_count(), fold_terms, centres);
    fold_terms(SquaredDeviation{centres}, squares);
    for (int64_t i = 0; i < strip.width; ++i) {
      if (is_wide && needs_scale(centres[i], squares[i])) {
        const Strided first = part_of(in, strip.in_offset + i * strip.in_stride, strip.in_stride);
        measure_scaled(variance, plan, strip, i, first, &centres[i], &squares[i]);
        continue;
      }
      const double quotient = plan.term_count() == 0 ? centres[i] : squares[i] / variance.divisor;
      squares[i] = variance.takes_root ? std::sqrt(quotient) : quotient;
    }
    store_tile(centres, strip.width, part_of(means, strip.out_offset, strip.out_stride));
    store_tile(squares, strip.width, part_of(out, strip.out_offset, strip.out_stride));
  });
}

// `views`: gradient, input, means, output and, of deviations, the deviations.
void variance_gradient(double factor, const Layout* views, int64_t begin, int64_t end) {
  const auto row = [=](const double* HWY_RESTRICT g, const double* HWY_RESTRICT x, const double* HWY_RESTRICT mean,
                       double* HWY_RESTRICT result, int64_t count) {
    for (int64_t i = 0; i < count; ++i) result[i] = factor * g[i] * (x[i] - mean[i]);
  };
  map_range<double>(row, views[3], begin, end, views[0], views[1], views[2]);
}

void deviation_gradient(double factor, const Layout* views, int64_t begin, int64_t end) {
  const auto row = [=](const double* HWY_RESTRICT g, const double* HWY_RESTRICT x, const double* HWY_RESTRICT mean,
                       const double* HWY_RESTRICT root, double* HWY_RESTRICT result, int64_t count) {
    for (int64_t i = 0; i < count; ++i) result[i] = factor * g[i] * deviation_slope(x[i], mean[i], root[i]);
  };
  map_range<double>(row, views[3], begin, end, views[0], views[1], views[2], views[4]);
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(variance_of_strips);
HWY_EXPORT(variance_gradient);
HWY_EXPORT(deviation_gradient);

Status variance(Stream& stream, const Variance& variance, const View& in, const View& means, const View& out) noexcept {
  HWY_DYNAMIC_DISPATCH(variance_of_strips)(pool_of(stream), variance, in, means, out);
  return {};
}

Status variance_backward(Stream& stream, double factor, const View& grad, const View& in, const View& means,
                         const View& deviations, const View& grad_in) noexcept {
  const bool has_root = deviations.data != nullptr;
  const Layout views[] = {Layout(repeated(grad, in.shape)), Layout(in), Layout(repeated(means, in.shape)),
                          Layout(grad_in), has_root ? Layout(repeated(deviations, in.shape)) : Layout(in)};
  const auto range = has_root ? HWY_DYNAMIC_DISPATCH(deviation_gradient) : HWY_DYNAMIC_DISPATCH(variance_gradient);
  for_each_range(pool_of(stream), grad_in.numel(),
                 [&](int64_t begin, int64_t end) { range(factor, views, begin, end); });
  return {};
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
