#include <cmath>

#include "backend/formula/vector_norm.h"
#include "backend/geometry/repeated.h"
#include "cuda/base/map.h"
#include "cuda/reduce/combine.h"
#include "cuda/reduce/entries.h"
#include "cuda/reduce/fold.h"

namespace halftone::cuda {
namespace {

// The norm of a set of terms, as the sum of their powers while that is in double's range.
struct PowerSum {
  double value;
  bool is_norm;
};

// The terms of sums. The usual powers do without a call of pow.
struct Power {
  double p;
  HALFTONE_DEVICE double operator()(double x) const {
    if (p == 0) return x != 0 ? 1 : 0;
    if (p == 1) return std::fabs(x);
    return p == 2 ? x * x : std::pow(std::fabs(x), p);
  }
};
struct Magnitude {
  HALFTONE_DEVICE double operator()(double x) const { return std::fabs(x); }
};
struct PowerOfShare {
  double p;
  double unit;
  HALFTONE_DEVICE double operator()(double x) const { return power_of_share(p, x, unit); }
};

struct NormOfTerms {
  using C = double;
  using State = PowerSum;
  static constexpr int kLarge = 1;

  double p;
  bool is_checked;
  Elements out;

  HALFTONE_DEVICE PowerSum none() const { return {0, false}; }
  HALFTONE_DEVICE void begin(const int64_t*, const int64_t*) {}
  HALFTONE_DEVICE double norm_of(const PowerSum& sum) const {
    return sum.is_norm ? sum.value : norm_of_sum(p, sum.value);
  }
  HALFTONE_DEVICE PowerSum combine(const PowerSum& a, const PowerSum& b) const {
    const double sum = a.value + b.value;
    if (!a.is_norm && !b.is_norm && !(is_checked && leaves_range<double>(sum, 0.0))) return {sum, false};
    const double first = norm_of(a), second = norm_of(b);
    const double unit = p > 0 ? Larger::of(first, second) : Smaller::of(first, second);
    return {norm_of_shares(p, unit, power_of_share(p, first, unit) + power_of_share(p, second, unit)), true};
  }
  template <class Terms, class Combine>
  HALFTONE_DEVICE PowerSum of_group(const Group& group, const Terms& terms, const Combine&) const {
    const double sum = fold_terms<Plus>(group, terms, Power{p});
    if (!is_checked) return {sum, false};
    const bool is_out = terms.count() > 0 && leaves_range<double>(sum, 0.0);
    if (!Group::any_in_block(is_out)) return {sum, false};
    const double norm = norm_by_shares(group, terms);
    return is_out ? PowerSum{norm, true} : PowerSum{sum, false};
  }
  HALFTONE_DEVICE void finish(const PowerSum& sum, const int64_t* small) const {
    store<double>(out, small[0], norm_of(sum));
  }

 private:
  template <class Combine, class Terms, class Term>
  HALFTONE_DEVICE static double fold_terms(const Group& group, const Terms& terms, const Term& term) {
    double state = Combine::template none<double>();
    terms.for_each(group, [&]<int K>(const double(&values)[1][K], int64_t, int64_t, auto&&) {
      double each[K];
#pragma unroll
      for (int k = 0; k < K; ++k) each[k] = term(values[0][k]);
      state = Combine::of(state, combined<Combine>(each));
    });
    return group.reduce(state, [](double a, double b) { return Combine::of(a, b); });
  }
  template <class Terms>
  HALFTONE_NOINLINE HALFTONE_DEVICE double norm_by_shares(const Group& group, const Terms& terms) const {
    const Magnitude size;
    const double unit = p > 0 ? fold_terms<Larger>(group, terms, size) : fold_terms<Smaller>(group, terms, size);
    return norm_of_shares(p, unit, fold_terms<Plus>(group, terms, PowerOfShare{p, unit}));
  }
};

struct NormGradient {
  double p;
  HALFTONE_DEVICE double operator()(double grad, double x, double norm) const { return grad * norm_slope(p, x, norm); }
};

}  // namespace

Status vector_norm(Stream& stream, double p, const View& in, const View& out) noexcept {
  const bool is_checked = may_leave_range(p, in.dtype == DType::kF64);
  return fold(stream, NormOfTerms{p, is_checked, elements_of(out)}, {&in}, {&out});
}

Status vector_norm_backward(Stream& stream, double p, const View& grad, const View& in, const View& norms,
                            const View& grad_in) noexcept {
  return map<double>(stream, NormGradient{p}, grad_in, repeated(grad, in.shape), in, repeated(norms, in.shape));
}

}  // namespace halftone::cuda
