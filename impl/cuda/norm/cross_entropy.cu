#include <cmath>

#include "backend/formula/softmax.h"
#include "cuda/norm/class_rows.h"
#include "cuda/norm/entries.h"
#include "cuda/reduce/fold.h"
#include "cuda/reduce/log_sum_exp.h"

namespace halftone::cuda {
namespace {

// The values of a row that forward saves for backward.
template <class C>
struct Normalizer {
  C largest;
  C sum;  // of exp(logit - largest)
};

template <class C>
struct Results {
  C* losses;
  C* row_weights;
  Normalizer<C>* normalizers;
};

// The losses of rows without smoothing. The small views are the targets and the losses, whose offset is the row.
template <class Element>
struct LossOfRow {
  using C = Element;
  using State = ExpSum<C>;
  static constexpr int kLarge = 1;

  ClassRows<C> rows;
  Results<C> out;
  Elements logits;
  int64_t class_stride;
  int64_t begin_of_row = 0;

  HALFTONE_DEVICE State none() const { return no_exp_sum<C>(); }
  HALFTONE_DEVICE State combine(const State& a, const State& b) const { return joined(a, b); }
  HALFTONE_DEVICE void begin(const int64_t* large, const int64_t*) { begin_of_row = large[0]; }
  HALFTONE_DEVICE void add(State& state, const auto& values, int64_t, int64_t) const { add_exps(state, values[0]); }
  HALFTONE_DEVICE void finish(const State& state, const int64_t* small) const {
    const int64_t target = rows.targets[small[0]];
    const int64_t row = small[1];
    rows.check(row, target);
    if (!rows.counts(target)) {
      out.losses[row] = out.row_weights[row] = C(0);
      out.normalizers[row] = {C(0), C(1)};
      return;
    }
    const C sum = state.sum_below_largest();
    const C logit = load<C>(logits, begin_of_row + target * class_stride);
    out.normalizers[row] = {state.largest, sum};
    out.row_weights[row] = rows.weight_of(target);
    out.losses[row] = rows.weight_of(target) * cross_entropy_loss(state.largest, static_cast<C>(std::log(sum)), logit);
  }
};

// Adds to each loss its smoothing part: the mean over the classes of -weight * log(probability).
template <class Element>
struct SmoothedLossOfRow {
  using C = Element;
  using State = Element;
  static constexpr int kLarge = 1;

  ClassRows<C> rows;
  Results<C> out;
  C largest = {};
  C log_of_sum = {};

  HALFTONE_DEVICE State none() const { return C(0); }
  HALFTONE_DEVICE State combine(State a, State b) const { return a + b; }
  HALFTONE_DEVICE void begin(const int64_t*, const int64_t* small) {
    largest = out.normalizers[small[1]].largest;
    log_of_sum = std::log(out.normalizers[small[1]].sum);
  }
  template <int K>
  HALFTONE_DEVICE void add(State& state, const C (&values)[1][K], int64_t i, int64_t step) const {
    C terms[K];
#pragma unroll
    for (int k = 0; k < K; ++k) {
      terms[k] = rows.weight_of(i + k * step) * cross_entropy_loss(largest, log_of_sum, values[0][k]);
    }
    state += combined<Plus>(terms);
  }
  HALFTONE_DEVICE void finish(State sum, const int64_t* small) const {
    if (!rows.counts(rows.targets[small[0]])) return;
    C& loss = out.losses[small[1]];
    loss = (C(1) - rows.smoothing) * loss + rows.smoothing * (sum / static_cast<C>(rows.classes));
  }
};

template <class C>
Status losses_as(Stream& stream, const View& logits, const ClassTargets& targets, const ClassLosses& out) {
  const ClassRows<C> rows(stream, targets, logits.shape[1]);
  const Results<C> results = {static_cast<C*>(out.losses.data), static_cast<C*>(out.row_weights.data),
                              static_cast<Normalizer<C>*>(out.normalizers.data)};
  const View of_targets = column_of(targets.indices), of_losses = column_of(out.losses);
  const LossOfRow<C> loss = {rows, results, elements_of(logits), logits.strides[1]};
  const Status status = fold(stream, loss, {&logits}, {&of_targets, &of_losses});
  if (!status.ok() || rows.smoothing == C(0)) return status;
  return fold(stream, SmoothedLossOfRow<C>{rows, results}, {&logits}, {&of_targets, &of_losses});
}

}  // namespace

Status cross_entropy(Stream& stream, const View& logits, const ClassTargets& targets, const ClassLosses& out) noexcept {
  return with_float_type(logits.dtype, [&]<class C>() { return losses_as<C>(stream, logits, targets, out); });
}

}  // namespace halftone::cuda
