#include "cuda/norm/column_moments.h"
#include "cuda/norm/column_norm.h"
#include "cuda/reduce/combine.h"

namespace halftone::cuda {
namespace {

// Both passes over the elements add up in double what FP32 adds of a tile; a tile whose sums leave FP32's range is
// added in double.
template <class Element>
struct ColumnMeans {
  using C = Element;
  using State = WideSum;
  static constexpr int kLarge = 1;

  double* means;
  int64_t count;

  HALFTONE_DEVICE State none() const { return {0, 0}; }
  HALFTONE_DEVICE State combine(const State& a, const State& b) const { return WideSum::of(a, b); }
  HALFTONE_DEVICE void begin(const int64_t*, const int64_t*) {}
  template <int K>
  HALFTONE_DEVICE void add(State& state, const C (&values)[1][K], int64_t, int64_t) const {
    state.add(values[0]);
  }
  HALFTONE_DEVICE void finish(const State& sum, const int64_t* small) const {
    const double n = static_cast<double>(count);
    means[small[0]] = sum.low / n + sum.high / n / WideSum::kShare;
  }
};

struct Deviations {
  double sum;
  double squares;
  double large;  // the squares, times kDown^2, of deviations of f64 whose squares would overflow
  double small;  // the squares, divided by kDown^2, of those whose squares would lose bits
};

// The deviations from the mean of the pass before, which are small.
template <class Element>
struct ColumnMoments {
  using C = Element;
  using State = Deviations;
  static constexpr int kLarge = 1;

  RowStatisticsMemory moments;
  int64_t count;
  C near_mean = {};

  HALFTONE_DEVICE State none() const { return {0, 0, 0, 0}; }
  HALFTONE_DEVICE State combine(const State& a, const State& b) const {
    return {a.sum + b.sum, a.squares + b.squares, a.large + b.large, a.small + b.small};
  }
  HALFTONE_DEVICE void begin(const int64_t*, const int64_t* small) {
    near_mean = static_cast<C>(moments.means[small[0]]);
  }
  template <int K>
  HALFTONE_DEVICE void add(State& state, const C (&values)[1][K], int64_t, int64_t) const {
    if constexpr (std::is_same_v<C, double>) {
      for (int k = 0; k < K; ++k) add_wide(state, values[0][k] * WideSum::kShare - near_mean * WideSum::kShare);
    } else {
      C deviations[K], squares[K];
#pragma unroll
      for (int k = 0; k < K; ++k) {
        deviations[k] = values[0][k] - near_mean;
        squares[k] = deviations[k] * deviations[k];
      }
      const double sum = static_cast<double>(combined<Plus>(squares));
      if (leaves_range<C>(sum, 0.0)) return add_in_double(state, values[0]);
      state.sum += static_cast<double>(combined<Plus>(deviations));
      state.squares += sum;
    }
  }
  HALFTONE_DEVICE void finish(const State& state, const int64_t* small) const {
    RowMoments found;
    if constexpr (std::is_same_v<C, double>) {
      found = wide_moments(state);
    } else {
      found = moments_of(near_mean, state.sum, state.squares, count);
    }
    moments.store(small[0], found);
  }

 private:
  template <int K>
  HALFTONE_DEVICE void add_in_double(State& state, const C (&values)[K]) const {
    for (int k = 0; k < K; ++k) {
      const double deviation = static_cast<double>(values[k]) - static_cast<double>(near_mean);
      state.sum += deviation;
      state.squares += deviation * deviation;
    }
  }
  HALFTONE_DEVICE static void add_wide(State& state, double deviation) {
    constexpr double kDown = NormRange<double>::kDown;
    const double size = std::fabs(deviation);
    state.sum += deviation;
    if (size > 0x1p400) {
      state.large += (deviation * kDown) * (deviation * kDown);
    } else if (size < 0x1p-450) {
      state.small += (deviation / kDown) * (deviation / kDown);
    } else {
      state.squares += deviation * deviation;
    }
  }
  HALFTONE_DEVICE RowMoments wide_moments(const State& state) const {
    constexpr double kDown = NormRange<double>::kDown;
    double scale = 1.0, squares = state.squares;
    if (state.large > 0.0) {
      scale = kDown;
      squares = state.large + squares * kDown * kDown;
    } else if (squares < 0x1p-800) {
      scale = 1.0 / kDown;
      squares = state.small + squares / kDown / kDown;
    }
    const RowMoments plain = moments_of(near_mean * WideSum::kShare, state.sum, state.squares, count);
    const RowMoments scaled = moments_of(0.0, state.sum * scale, squares, count);
    return {plain.mean / WideSum::kShare, stored_variance(scaled.variance, scale * WideSum::kShare)};
  }
};

// Normalises the elements of a channel.
template <class Element>
struct NormaliseColumn {
  using C = Element;
  static constexpr int kLarge = 1;

  const Normaliser<C>* table;
  const C* weight;  // null for none
  const C* bias;
  Normaliser<C> normaliser = {};
  C scale = {};
  C shift = {};

  HALFTONE_DEVICE void begin(const int64_t*, const int64_t* small) {
    normaliser = table[small[0]];
    scale = weight == nullptr ? C(1) : weight[small[0]];
    shift = bias == nullptr ? C(0) : bias[small[0]];
  }
  template <int K>
  HALFTONE_DEVICE void result(const C (&x)[1][K], int64_t, int64_t, C (&results)[K]) const {
#pragma unroll
    for (int k = 0; k < K; ++k) results[k] = normaliser(x[0][k]) * scale + shift;
  }
};

template <class C>
Status find_moments(Stream& stream, const RowNorm& norm, const View& x, const NormStatistics& statistics) {
  const View channels = by_column(x);
  const int64_t count = x.numel() / x.shape[0];
  const RowStatisticsMemory moments = memory_of(statistics, norm);
  const Status status = fold(stream, ColumnMeans<C>{moments.means, count}, {&x}, {&channels});
  return status.ok() ? fold(stream, ColumnMoments<C>{moments, count}, {&x}, {&channels}) : status;
}

template <class C>
Status run(Stream& stream, const RowNorm& norm, const View& x, const NormAffine& affine,
           const NormStatistics& statistics, const View& out) {
  Status status;
  if (norm.statistics != RowStatistics::kGiven) status = find_moments<C>(stream, norm, x, statistics);
  if (status.ok()) status = fill_column_table<C>(stream, statistics, norm);
  if (!status.ok()) return status;
  const View channels = by_column(x);
  const NormaliseColumn<C> normalise = {column_table<C>(stream), static_cast<const C*>(affine.weight.data),
                                        static_cast<const C*>(affine.bias.data)};
  return each(stream, normalise, {&x, &out}, {&channels});
}

}  // namespace

bool is_column_norm(const RowNorm& norm, const View& x) noexcept {
  if (norm.groups != norm.rows || norm.statistics == RowStatistics::kMeanSquare || x.rank() < 2) return false;
  if (norm.rows > kMostColumns || norm.rows != x.shape[0]) return false;
  // Layer normalisation of one row has as many rows as groups, too, but a channel for each of their elements.
  return norm.rows * norm.spatial == x.numel();
}

Status column_norm(Stream& stream, const RowNorm& norm, const View& x, const NormAffine& affine,
                   const NormStatistics& statistics, const View& out) noexcept {
  return with_float_type(x.dtype, [&]<class C>() { return run<C>(stream, norm, x, affine, statistics, out); });
}

}  // namespace halftone::cuda
