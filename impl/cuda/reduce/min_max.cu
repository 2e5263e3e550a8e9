#include "cuda/reduce/combine.h"
#include "cuda/reduce/entries.h"
#include "cuda/reduce/fold.h"

namespace halftone::cuda {
namespace {

template <class Combine, class Element>
struct Extreme {
  using C = Element;
  using State = Element;
  static constexpr int kLarge = 1;

  Elements out;

  HALFTONE_DEVICE State none() const { return Combine::template none<C>(); }
  HALFTONE_DEVICE State combine(State a, State b) const { return Combine::of(a, b); }
  HALFTONE_DEVICE void begin(const int64_t*, const int64_t*) {}
  template <int K>
  HALFTONE_DEVICE void add(State& state, const C (&values)[1][K], int64_t, int64_t) const {
    state = Combine::of(state, combined<Combine>(values[0]));
  }
  HALFTONE_DEVICE void finish(State state, const int64_t* small) const { store<C>(out, small[0], state); }
};

template <class C>
HALFTONE_DEVICE bool is_same(C a, C b) {
  return a == b || (a != a && b != b);
}

// The first index at which a term equals the output's value.
template <class Element>
struct FirstIndex {
  using C = Element;
  using State = int64_t;
  static constexpr int kLarge = 1;

  Elements values;
  Elements out;
  C wanted = {};

  HALFTONE_DEVICE State none() const { return std::numeric_limits<int64_t>::max(); }
  HALFTONE_DEVICE State combine(State a, State b) const { return a < b ? a : b; }
  HALFTONE_DEVICE void begin(const int64_t*, const int64_t* small) { wanted = load<C>(values, small[0]); }
  template <int K>
  HALFTONE_DEVICE void add(State& state, const C (&terms)[1][K], int64_t i, int64_t step) const {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (is_same(terms[0][k], wanted)) state = combine(state, i + k * step);
    }
  }
  HALFTONE_DEVICE void finish(State state, const int64_t* small) const { store<int64_t>(out, small[1], state); }
};

}  // namespace

Status min_max(Stream& stream, MinMax which, const View& in, const View& out) noexcept {
  return with_compute_type(in.dtype, [&]<class C>() {
    if (which == MinMax::kMax) return fold(stream, Extreme<Larger, C>{elements_of(out)}, {&in}, {&out});
    return fold(stream, Extreme<Smaller, C>{elements_of(out)}, {&in}, {&out});
  });
}

Status index_of(Stream& stream, const View& in, const View& values, const View& out) noexcept {
  return with_compute_type(in.dtype, [&]<class C>() {
    return fold(stream, FirstIndex<C>{elements_of(values), elements_of(out)}, {&in}, {&values, &out});
  });
}

}  // namespace halftone::cuda
