#include "cuda/norm/column_moments.h"
#include "cuda/norm/column_norm.h"
#include "cuda/reduce/combine.h"

namespace halftone::cuda {
namespace {

struct GradientSums {
  double grad;
  double product;  // with the normalised elements
};

// Sums the gradient over the elements of a channel, and its product with the normalised ones.
template <class Element>
struct SumColumn {
  using C = Element;
  using State = GradientSums;
  static constexpr int kLarge = 2;

  const Normaliser<C>* table;
  GradientSums* sums;  // of the channels
  int64_t channels;
  int64_t pieces;
  C* weight_sums;  // [pieces, channels]; null for none
  C* bias_sums;
  Normaliser<C> normaliser = {};

  HALFTONE_DEVICE State none() const { return {0, 0}; }
  HALFTONE_DEVICE State combine(const State& a, const State& b) const {
    return {a.grad + b.grad, a.product + b.product};
  }
  HALFTONE_DEVICE void begin(const int64_t*, const int64_t* small) { normaliser = table[small[0]]; }
  template <int K>
  HALFTONE_DEVICE void add(State& state, const C (&values)[2][K], int64_t, int64_t) const {
    C products[K];
#pragma unroll
    for (int k = 0; k < K; ++k) products[k] = values[0][k] * normaliser(values[1][k]);
    state.grad += static_cast<double>(combined<Plus>(values[0]));
    state.product += static_cast<double>(combined<Plus>(products));
  }
  HALFTONE_DEVICE void finish(const State& state, const int64_t* small) const {
    sums[small[0]] = state;
    store(weight_sums, small[0], static_cast<C>(state.product));
    store(bias_sums, small[0], static_cast<C>(state.grad));
  }
  HALFTONE_DEVICE void store(C* of_pieces, int64_t channel, C value) const {
    for (int64_t piece = 0; of_pieces != nullptr && piece < pieces; ++piece) {
      of_pieces[piece * channels + channel] = piece == 0 ? value : C(0);
    }
  }
};

// The gradients of a channel's elements.
template <class Element>
struct GradientOfColumn {
  using C = Element;
  static constexpr int kLarge = 2;

  const Normaliser<C>* table;
  const GradientSums* sums;
  const C* weight;  // null for none
  int64_t count;
  bool is_given;  // the statistics do not depend on the elements, so the gradient is that of a product
  Normaliser<C> normaliser = {};
  C scale = {};
  C mean = {};
  C projection = {};

  HALFTONE_DEVICE void begin(const int64_t*, const int64_t* small) {
    normaliser = table[small[0]];
    scale = weight == nullptr ? C(1) : weight[small[0]];
    const double share = is_given ? 0.0 : static_cast<double>(scale) / static_cast<double>(count);
    mean = static_cast<C>(is_given ? 0.0 : share * sums[small[0]].grad);
    projection = static_cast<C>(is_given ? 0.0 : share * sums[small[0]].product);
  }
  template <int K>
  HALFTONE_DEVICE void result(const C (&values)[2][K], int64_t, int64_t, C (&results)[K]) const {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      C slope = scale * values[0][k];
      if (!is_given) slope = (slope - mean) - normaliser(values[1][k]) * projection;
      results[k] = normaliser.divided(slope);
    }
  }
};

template <class C>
Status run(Stream& stream, const RowNorm& norm, const NormSaved& saved, const NormGrads& out) {
  const Normaliser<C>* const table = column_table<C>(stream);
  // Behind the table, aligned as it is.
  auto* const sums =
      reinterpret_cast<GradientSums*>(scratch_of(stream) + kPartialBytes + sizeof(Normaliser<double>) * kMostColumns);
  const View channels = by_column(saved.x);
  const SumColumn<C> sum = {
      table, sums, norm.rows, out.pieces, static_cast<C*>(out.weight_sums.data), static_cast<C*>(out.bias_sums.data)};
  Status status = fill_column_table<C>(stream, saved.statistics, norm);
  if (status.ok()) status = fold(stream, sum, {&saved.grad_output, &saved.x}, {&channels});
  if (!status.ok() || out.input.data == nullptr) return status;
  const GradientOfColumn<C> gradient = {table, sums, static_cast<const C*>(saved.weight.data),
                                        saved.x.numel() / norm.rows, norm.statistics == RowStatistics::kGiven};
  return each(stream, gradient, {&saved.grad_output, &saved.x, &out.input}, {&channels});
}

}  // namespace

Status column_norm_backward(Stream& stream, const RowNorm& norm, const NormSaved& saved,
                            const NormGrads& out_grads) noexcept {
  return with_float_type(saved.x.dtype, [&]<class C>() { return run<C>(stream, norm, saved, out_grads); });
}

}  // namespace halftone::cuda
