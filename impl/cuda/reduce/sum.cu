#include "cuda/reduce/combine.h"
#include "cuda/reduce/entries.h"
#include "cuda/reduce/fold.h"

namespace halftone::cuda {
namespace {

// Sums in double what FP32 adds of a tile: the error does not grow with the number of terms.
template <class Element>
struct SumOfTerms {
  using C = Element;
  static constexpr bool kIsIntegral = std::is_integral_v<C>;
  using State = std::conditional_t<kIsIntegral, int64_t, WideSum>;
  static constexpr int kLarge = 1;

  double scale;
  bool adds;
  Elements out;

  HALFTONE_DEVICE State none() const { return State{}; }
  HALFTONE_DEVICE State combine(const State& a, const State& b) const {
    return std::conditional_t<kIsIntegral, Plus, WideSum>::of(a, b);
  }
  HALFTONE_DEVICE void begin(const int64_t*, const int64_t*) {}
  template <int K>
  HALFTONE_DEVICE void add(State& state, const C (&values)[1][K], int64_t, int64_t) const {
    if constexpr (kIsIntegral) {
      state = Plus::of(state, combined<Plus>(values[0]));
    } else {
      state.add(values[0]);
    }
  }
  HALFTONE_DEVICE void finish(const State& state, const int64_t* small) const {
    C result;
    if constexpr (kIsIntegral) {
      result = state;
    } else {
      result = static_cast<C>(state.total(scale));
    }
    if (adds) result = Plus::of(load<C>(out, small[0]), result);
    store<C>(out, small[0], result);
  }
};

template <class Element>
struct ProductOfTerms {
  using C = Element;
  using State = Element;
  static constexpr int kLarge = 1;

  Elements out;

  HALFTONE_DEVICE State none() const { return State(1); }
  HALFTONE_DEVICE State combine(State a, State b) const { return Times::of(a, b); }
  HALFTONE_DEVICE void begin(const int64_t*, const int64_t*) {}
  template <int K>
  HALFTONE_DEVICE void add(State& state, const C (&values)[1][K], int64_t, int64_t) const {
    state = Times::of(state, combined<Times>(values[0]));
  }
  HALFTONE_DEVICE void finish(State state, const int64_t* small) const { store<C>(out, small[0], state); }
};

}  // namespace

Status sum(Stream& stream, const View& in, double scale, Store store, const View& out) noexcept {
  const auto sum_as = [&]<class C>() {
    return fold(stream, SumOfTerms<C>{scale, store == Store::kAdd, elements_of(out)}, {&in}, {&out});
  };
  if (in.dtype == DType::kF64 || out.dtype == DType::kF64) return sum_as.template operator()<double>();
  if (is_float(in.dtype) || is_float(out.dtype)) return sum_as.template operator()<float>();
  return sum_as.template operator()<int64_t>();
}

Status product(Stream& stream, const View& in, const View& out) noexcept {
  if (is_float(in.dtype) || is_float(out.dtype)) {
    // In double the product of FP32 factors may leave FP32's range on the way, and return to it.
    return fold(stream, ProductOfTerms<double>{elements_of(out)}, {&in}, {&out});
  }
  return fold(stream, ProductOfTerms<int64_t>{elements_of(out)}, {&in}, {&out});
}

}  // namespace halftone::cuda
