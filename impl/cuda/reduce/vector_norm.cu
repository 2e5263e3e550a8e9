#include <cmath>

#include "cuda/base/map.h"
#include "cuda/reduce/combine.h"
#include "cuda/reduce/entries.h"
#include "cuda/reduce/fold.h"
#include "cuda/reduce/repeated.h"

namespace halftone::cuda {
namespace {

struct SumOfPowers {
  using C = double;
  using State = double;
  static constexpr int kLarge = 1;

  double p;
  Elements out;

  HALFTONE_DEVICE double none() const { return 0; }
  HALFTONE_DEVICE double combine(double a, double b) const { return a + b; }
  HALFTONE_DEVICE void begin(const int64_t*, const int64_t*) {}
  // The usual powers do without a call of pow.
  HALFTONE_DEVICE double term(double x) const {
    if (p == 0) return x != 0 ? 1 : 0;
    if (p == 1) return std::fabs(x);
    return p == 2 ? x * x : std::pow(std::fabs(x), p);
  }
  template <int K>
  HALFTONE_DEVICE void add(double& state, const double (&values)[1][K], int64_t, int64_t) const {
    double terms[K];
#pragma unroll
    for (int k = 0; k < K; ++k) terms[k] = term(values[0][k]);
    state += combined<Plus>(terms);
  }
  HALFTONE_DEVICE void finish(double state, const int64_t* small) const {
    double root = state;
    if (p == 2) root = std::sqrt(state);
    if (p != 0 && p != 1 && p != 2) root = std::pow(state, 1 / p);
    store<double>(out, small[0], root);
  }
};

// A norm of 0 has elements of 0 only; their gradient is 0.
struct NormGradient {
  double p;
  HALFTONE_DEVICE double operator()(double grad, double x, double norm) const { return grad * slope(x, norm); }
  HALFTONE_DEVICE double slope(double x, double norm) const {
    if (x == 0 || p == 0) return 0;
    if (x != x) return x;
    const double share = std::fabs(x) / norm;
    return std::copysign(p == 1 ? 1 : p == 2 ? share : std::pow(share, p - 1), x);
  }
};

}  // namespace

Status vector_norm(Stream& stream, double p, const View& in, const View& out) noexcept {
  return fold(stream, SumOfPowers{p, elements_of(out)}, {&in}, {&out});
}

Status vector_norm_backward(Stream& stream, double p, const View& grad, const View& in, const View& norms,
                            const View& grad_in) noexcept {
  return map<double>(stream, NormGradient{p}, grad_in, repeated(grad, in.shape), in, repeated(norms, in.shape));
}

}  // namespace halftone::cuda
