#include "cuda/reduce/entries.h"
#include "cuda/reduce/log_sum_exp.h"
#include "cuda/reduce/spread.h"

namespace halftone::cuda {
namespace {

template <class Element>
struct LogSumExp {
  using C = Element;
  using State = ExpSum<C>;
  static constexpr int kLarge = 1;

  Elements small_view;  // the result; in backward the gradient
  C factor = {};
  C shift = {};

  HALFTONE_DEVICE State none() const { return no_exp_sum<C>(); }
  HALFTONE_DEVICE State combine(const State& a, const State& b) const { return joined(a, b); }
  HALFTONE_DEVICE void add(State& state, const auto& values, int64_t, int64_t) const { add_exps(state, values[0]); }
  HALFTONE_DEVICE void finish(const State& state, const int64_t* small) const {
    store<C>(small_view, small[0], state.log());
  }

  // Backward: beside +inf all others have the gradient 0, and NaN makes all NaN.
  HALFTONE_DEVICE void begin(const int64_t*, const int64_t* small) { place = small[0]; }
  HALFTONE_DEVICE void prepare(const State& state) {
    const C sum = std::isinf(state.largest) && !std::isnan(state.sum) ? C(1) : state.sum;
    factor = load<C>(small_view, place) / sum;
    shift = state.largest;
  }
  template <int K>
  HALFTONE_DEVICE void result(const C (&terms)[1][K], int64_t, int64_t, C (&results)[K]) const {
#pragma unroll
    for (int k = 0; k < K; ++k) results[k] = std::exp(terms[0][k] - shift) * factor;
  }
  int64_t place = 0;
};

}  // namespace

Status log_sum_exp(Stream& stream, const View& in, const View& out) noexcept {
  const bool is_wide = in.dtype == DType::kF64 || out.dtype == DType::kF64;
  return with_float_type(is_wide ? DType::kF64 : DType::kF32,
                         [&]<class C>() { return fold(stream, LogSumExp<C>{elements_of(out)}, {&in}, {&out}); });
}

Status log_sum_exp_backward(Stream& stream, const View& grad, const View& in, const View& grad_in) noexcept {
  return with_float_type(in.dtype, [&]<class C>() {
    return spread(stream, LogSumExp<C>{elements_of(grad)}, {&in, &grad_in}, {&grad});
  });
}

}  // namespace halftone::cuda
