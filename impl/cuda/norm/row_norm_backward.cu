// With n the normalised row, g the result's gradient times the weight, and means over the row:
//   grad_input = rstd (g - mean(g) - n mean(g n))
// without mean(g) if no mean was subtracted, and without both if the statistics were given.
#include "cuda/norm/affine_sums.h"
#include "cuda/norm/column_norm.h"
#include "cuda/norm/entries.h"
#include "cuda/norm/row_moments.h"
#include "cuda/reduce/combine.h"

namespace halftone::cuda {
namespace {

enum : int { kGrad, kX, kGradSum, kOut };

struct Settings {
  RowStatistics statistics;
  double epsilon;
  RowChannels channels;
  bool has_grad_sum;
  RowStatisticsMemory moments;
  const void* weight;  // in the compute type; null for none
};

// A thread's tiles of a row, kept in registers or read again for each pass.
template <class C, int T, bool kKept>
class GradientRow {
 public:
  HALFTONE_DEVICE GradientRow(const RowSet<4>& set, int64_t index, const Settings& settings)
      : row_(set, index),
        settings_(settings),
        normaliser_(normaliser_of<C>(settings.moments.load(index), settings.epsilon)),
        channel_(settings.channels.first(index)) {}

  HALFTONE_DEVICE void run() {
    if (settings_.statistics != RowStatistics::kGiven) find_means();
    each([&](int64_t k, C(&g)[kTile], C(&n)[kTile]) {
#pragma unroll
      for (int i = 0; i < kTile; ++i) g[i] = normaliser_.divided((g[i] - mean_) - n[i] * projection_);
      if (settings_.has_grad_sum) add_grad_sum(k, g);
      row_.store(kOut, k, g);
    });
  }

 private:
  // The weighted gradient and the normalised elements. Both are 0 behind the row's end.
  HALFTONE_DEVICE void load(int64_t k, C (&g)[kTile], C (&n)[kTile]) const {
    row_.load(kGrad, k, C(0), g);
    row_.load(kX, k, C(0), n);
#pragma unroll
    for (int i = 0; i < kTile; ++i) n[i] = row_.exists(k, i) ? normaliser_(n[i]) : C(0);
    if (settings_.weight == nullptr) return;
    C weights[kTile];
    load_channels(row_, k, settings_.channels, static_cast<const C*>(settings_.weight) + channel_, weights);
#pragma unroll
    for (int i = 0; i < kTile; ++i) g[i] *= weights[i];
  }
  // The input's gradient is rounded first, as if norm and sum were computed apart.
  HALFTONE_DEVICE void add_grad_sum(int64_t k, C (&g)[kTile]) const {
    C more[kTile];
    row_.load(kGradSum, k, C(0), more);
    visit_trained_type<C>(row_.dtype(kOut), [&]<class E>() {
#pragma unroll
      for (int i = 0; i < kTile; ++i) g[i] = widen<C>(narrow<E>(g[i]));
    });
#pragma unroll
    for (int i = 0; i < kTile; ++i) g[i] += more[i];
  }

  // The means over the row of the weighted gradient and of its product with the normalised row. The first pass, which
  // fills the registers.
  HALFTONE_DEVICE void find_means() {
    C sum = 0, product = 0;
    each([&](int64_t, C(&g)[kTile], C(&n)[kTile]) {
      C products[kTile];
#pragma unroll
      for (int i = 0; i < kTile; ++i) products[i] = g[i] * n[i];
      sum += combined<Plus>(g);
      product += combined<Plus>(products);
    });
    const C count = static_cast<C>(row_.length());
    mean_ = sum_row<T>(sum) / count;
    projection_ = sum_row<T>(product) / count;
    if (settings_.statistics == RowStatistics::kMeanSquare) mean_ = 0;
  }

  template <class F>
  HALFTONE_DEVICE void each(F&& f) {
    if constexpr (kKept) {
#pragma unroll
      for (int k = 0; k < kRowTiles; ++k) {
        if (k >= row_.tiles()) continue;
        if (!is_filled_) load(k, grads_[k], normalised_[k]);
        f(k, grads_[k], normalised_[k]);
      }
      is_filled_ = true;
    } else {
      for (int64_t k = 0; k < row_.tiles(); ++k) {
        load(k, grads_[0], normalised_[0]);
        f(k, grads_[0], normalised_[0]);
      }
    }
  }

  const RowReader<T, 4> row_;
  const Settings& settings_;
  Normaliser<C> normaliser_;
  int64_t channel_;
  C mean_ = 0;
  C projection_ = 0;
  bool is_filled_ = false;
  C grads_[kKept ? kRowTiles : 1][kTile];
  C normalised_[kKept ? kRowTiles : 1][kTile];
};

template <class C, int T, bool kKept>
HALFTONE_KERNEL gradient_rows(RowSet<4> set, Settings settings) {
  for_each_row<T>(set.rows, [&](int64_t index) { GradientRow<C, T, kKept>(set, index, settings).run(); });
}

template <class C>
Status run(Stream& stream, const RowSet<4>& set, const Settings& settings) {
  const Grid warps = grid_for_row_threads(set.rows, kWarp), blocks = grid_for_row_threads(set.rows, kThreads);
  if (fits_in_registers(set.length, kWarp)) {
    return launch(stream, warps, gradient_rows<C, kWarp, true>, set, settings);
  }
  if (fits_in_registers(set.length, kThreads)) {
    return launch(stream, blocks, gradient_rows<C, kThreads, true>, set, settings);
  }
  return launch(stream, blocks, gradient_rows<C, kThreads, false>, set, settings);
}

Status input_gradient(Stream& stream, const RowNorm& norm, const NormSaved& saved, const View& out) {
  const bool has_grad_sum = saved.grad_sum.data != nullptr;
  const View& grad_sum = has_grad_sum ? saved.grad_sum : saved.grad_output;
  const RowSet<4> set = row_set({&saved.grad_output, &saved.x, &grad_sum, &out}, norm.rows);
  const Settings settings = {.statistics = norm.statistics,
                             .epsilon = norm.epsilon,
                             .channels = channels_of(norm, saved.x),
                             .has_grad_sum = has_grad_sum,
                             .moments = memory_of(saved.statistics, norm),
                             .weight = saved.weight.data};
  return with_float_type(saved.x.dtype, [&]<class C>() { return run<C>(stream, set, settings); });
}

}  // namespace

Status row_norm_backward(Stream& stream, const RowNorm& norm, const NormSaved& saved,
                         const NormGrads& out_grads) noexcept {
  if (saved.x.numel() == 0) return {};
  if (is_column_norm(norm, saved.x)) return column_norm_backward(stream, norm, saved, out_grads);
  if (out_grads.input.data != nullptr) {
    const Status status = input_gradient(stream, norm, saved, out_grads.input);
    if (!status.ok()) return status;
  }
  return affine_sums(stream, norm, saved, out_grads);
}

}  // namespace halftone::cuda
