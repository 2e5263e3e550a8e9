#include <cmath>
#include <limits>

#include "cuda/base/map.h"
#include "cuda/reduce/combine.h"
#include "cuda/reduce/entries.h"
#include "cuda/reduce/fold.h"
#include "cuda/reduce/repeated.h"

namespace halftone::cuda {
namespace {

// The mean is the first term plus the mean distance to it, which is exact where all terms are equal.
struct Moments {
  double count;
  double mean;
  double squares;  // of deviations from the mean
};

struct VarianceOfTerms {
  using C = double;
  using State = Moments;
  static constexpr int kLarge = 1;

  double divisor;
  bool takes_root;
  bool is_empty;
  Elements in;
  Elements means;
  Elements out;
  double first = 0;

  HALFTONE_DEVICE Moments none() const { return {0, 0, 0}; }
  HALFTONE_DEVICE void begin(const int64_t* large, const int64_t*) {
    if (!is_empty) first = load<double>(in, large[0]);
  }
  // The moments of two sets of terms together.
  HALFTONE_DEVICE Moments combine(const Moments& a, const Moments& b) const {
    if (a.count == 0) return b;
    if (b.count == 0) return a;
    const double count = a.count + b.count;
    const double distance = b.mean - a.mean;
    const double share = b.count / count;
    return {count, a.mean + distance * share, a.squares + b.squares + distance * distance * (a.count * share)};
  }
  template <class Terms, class Combine>
  HALFTONE_DEVICE Moments of_group(const Group& group, const Terms& terms, const Combine&) const {
    const double count = static_cast<double>(terms.count());
    const double mean = first + sum(group, terms, [&](double x) { return x - first; }) / count;
    return {count, mean, sum(group, terms, [&](double x) { return (x - mean) * (x - mean); })};
  }
  HALFTONE_DEVICE void finish(const Moments& moments, const int64_t* small) const {
    const double none = std::numeric_limits<double>::quiet_NaN();
    const double quotient = is_empty ? none : moments.squares / divisor;
    store<double>(means, small[0], is_empty ? none : moments.mean);
    store<double>(out, small[1], takes_root ? std::sqrt(quotient) : quotient);
  }

 private:
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

}  // namespace

Status variance(Stream& stream, const Variance& variance, const View& in, const View& means, const View& out) noexcept {
  const VarianceOfTerms op = {.divisor = variance.divisor,
                              .takes_root = variance.takes_root,
                              .is_empty = in.numel() == 0,
                              .in = elements_of(in),
                              .means = elements_of(means),
                              .out = elements_of(out)};
  return fold(stream, op, {&in}, {&means, &out});
}

Status variance_backward(Stream& stream, double factor, const View& grad, const View& in, const View& means,
                         const View& grad_in) noexcept {
  return map<double>(stream, VarianceGradient{factor}, grad_in, repeated(grad, in.shape), in,
                     repeated(means, in.shape));
}

}  // namespace halftone::cuda
