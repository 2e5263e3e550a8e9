#include <cmath>
#include <limits>

#include "backend/formula/set_moments.h"
#include "backend/geometry/repeated.h"
#include "cuda/base/map.h"
#include "cuda/reduce/combine.h"
#include "cuda/reduce/entries.h"
#include "cuda/reduce/fold.h"

namespace halftone::cuda {
namespace {

struct VarianceOfTerms {
  using C = double;
  using State = SetMoments;
  static constexpr int kLarge = 1;

  double divisor;
  bool takes_root;
  bool is_empty;
  bool is_wide;
  Elements in;
  Elements means;
  Elements out;
  double first = 0;

  HALFTONE_DEVICE SetMoments none() const { return {0, 0, 0}; }
  HALFTONE_DEVICE void begin(const int64_t* large, const int64_t*) {
    if (!is_empty) first = load<double>(in, large[0]);
  }
  HALFTONE_DEVICE SetMoments combine(const SetMoments& a, const SetMoments& b) const { return joined(a, b); }
  template <class Terms, class Combine>
  HALFTONE_DEVICE SetMoments of_group(const Group& group, const Terms& terms, const Combine&) const {
    const SetMoments plain = moments_of(group, terms, 1.0);
    // Squares of narrower numbers stay within double's range.
    if (!is_wide) return plain;
    const bool is_out = terms.count() > 0 && needs_scale(plain.mean, plain.squares);
    // All threads of a block take part in the second pass, since it reduces over the block.
    if (!Group::any_in_block(is_out)) return plain;
    const double scale = scale_of_sums<double>(plain.squares);
    const SetMoments scaled = moments_of(group, terms, scale);
    if (!is_out) return plain;
    return {scaled.count, scaled.mean / scale, squares_of_root(std::sqrt(scaled.squares) / scale)};
  }
  HALFTONE_DEVICE void finish(const SetMoments& moments, const int64_t* small) const {
    const double none = std::numeric_limits<double>::quiet_NaN();
    store<double>(means, small[0], is_empty ? none : moments.mean);
    store<double>(out, small[1], is_empty ? none : result(moments.squares));
  }

 private:
  HALFTONE_DEVICE double result(double squares) const {
    // squares_of_root: the root of the sum, negated, where the sum itself would leave the range.
    if (squares < 0.0) {
      const double deviation = -squares / std::sqrt(divisor);
      return takes_root ? deviation : deviation * deviation;
    }
    return takes_root ? std::sqrt(squares / divisor) : squares / divisor;
  }
  // The moments of terms times `scale`. The mean is the first term plus the mean distance to it, which is exact where
  // all terms are equal.
  template <class Terms>
  HALFTONE_DEVICE SetMoments moments_of(const Group& group, const Terms& terms, double scale) const {
    const double count = static_cast<double>(terms.count()), start = scale * first;
    const double mean = start + sum(group, terms, [&](double x) { return scale * x - start; }) / count;
    return {count, mean, sum(group, terms, [&](double x) { return (scale * x - mean) * (scale * x - mean); })};
  }
  template <class Terms, class F>
  HALFTONE_DEVICE static double sum(const Group& group, const Terms& terms, F&& term) {
    double sum = 0;
    terms.for_each(group, [&]<int K>(const double(&values)[1][K], int64_t, int64_t, auto&&) {
      double each[K];
#pragma unroll
      for (int k = 0; k < K; ++k) each[k] = term(values[0][k]);
      sum += combined<Plus>(each);
    });
    return group.reduce(sum, [](double a, double b) { return a + b; });
  }
};

struct VarianceGradient {
  double factor;
  HALFTONE_DEVICE double operator()(double grad, double x, double mean) const { return factor * grad * (x - mean); }
};

struct DeviationGradient {
  double factor;
  HALFTONE_DEVICE double operator()(double grad, double x, double mean, double root) const {
    return factor * grad * deviation_slope(x, mean, root);
  }
};

}  // namespace

Status variance(Stream& stream, const Variance& variance, const View& in, const View& means, const View& out) noexcept {
  const VarianceOfTerms op = {.divisor = variance.divisor,
                              .takes_root = variance.takes_root,
                              .is_empty = in.numel() == 0,
                              .is_wide = in.dtype == DType::kF64,
                              .in = elements_of(in),
                              .means = elements_of(means),
                              .out = elements_of(out)};
  return fold(stream, op, {&in}, {&means, &out});
}

Status variance_backward(Stream& stream, double factor, const View& grad, const View& in, const View& means,
                         const View& deviations, const View& grad_in) noexcept {
  const View grads = repeated(grad, in.shape), centres = repeated(means, in.shape);
  if (deviations.data == nullptr) return map<double>(stream, VarianceGradient{factor}, grad_in, grads, in, centres);
  return map<double>(stream, DeviationGradient{factor}, grad_in, grads, in, centres, repeated(deviations, in.shape));
}

}  // namespace halftone::cuda
