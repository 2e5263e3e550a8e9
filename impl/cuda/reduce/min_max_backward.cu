#include "backend/geometry/repeated.h"
#include "cuda/base/launch.h"
#include "cuda/reduce/combine.h"
#include "cuda/reduce/entries.h"
#include "cuda/reduce/spread.h"

namespace halftone::cuda {
namespace {

// The gradient of an output, shared among the terms that equal its value.
template <class Element>
struct SharedGradient {
  using C = Element;
  using State = int64_t;  // the number of such terms
  static constexpr int kLarge = 1;

  Elements grad;
  Elements values;
  C value = {};
  C share = {};

  HALFTONE_DEVICE State none() const { return 0; }
  HALFTONE_DEVICE State combine(State a, State b) const { return a + b; }
  HALFTONE_DEVICE void begin(const int64_t*, const int64_t* small) {
    share = load<C>(grad, small[0]);
    value = load<C>(values, small[1]);
  }
  HALFTONE_DEVICE bool includes(C x) const { return x == value || (x != x && value != value); }
  template <int K>
  HALFTONE_DEVICE void add(State& state, const C (&terms)[1][K], int64_t, int64_t) const {
#pragma unroll
    for (int k = 0; k < K; ++k) state += includes(terms[0][k]) ? 1 : 0;
  }
  HALFTONE_DEVICE void finish(State, const int64_t*) const {}
  HALFTONE_DEVICE void prepare(State count) { share = share / static_cast<C>(count); }
  template <int K>
  HALFTONE_DEVICE void result(const C (&terms)[1][K], int64_t, int64_t, C (&results)[K]) const {
#pragma unroll
    for (int k = 0; k < K; ++k) results[k] = includes(terms[0][k]) ? share : C(0);
  }
};

// The views: out, grad, indices, and one without memory whose offset is the index along the dimension.
template <class C>
HALFTONE_KERNEL one_hot_kernel(Places<4> places, Elements out, Elements grad, const int64_t* indices) {
  for (int64_t i = first_item(); i < places.count; i += item_step()) {
    const Offsets<4> offsets = offsets_at(places, i);
    const bool is_hot = indices[offsets.at[2]] == offsets.at[3];
    store<C>(out, offsets.at[0], is_hot ? load<C>(grad, offsets.at[1]) : C(0));
  }
}

}  // namespace

Status min_max_backward(Stream& stream, const View& grad, const View& in, const View& values,
                        const View& grad_in) noexcept {
  return with_float_type(in.dtype, [&]<class C>() {
    return spread(stream, SharedGradient<C>{elements_of(grad), elements_of(values)}, {&in, &grad_in}, {&grad, &values});
  });
}

Status one_hot(Stream& stream, const View& grad, const View& indices, int dim, const View& out) noexcept {
  View along = out;
  for (int64_t i = 0; i < out.rank(); ++i) along.strides[static_cast<int>(i)] = i == dim ? 1 : 0;
  const Places<4> places = places_of(out, repeated(grad, out.shape), repeated(indices, out.shape), along);
  return with_float_type(out.dtype, [&]<class C>() {
    return launch(stream, grid_for_items(device_of(stream), places.count), one_hot_kernel<C>, places, elements_of(out),
                  elements_of(grad), static_cast<const int64_t*>(indices.data));
  });
}

}  // namespace halftone::cuda
