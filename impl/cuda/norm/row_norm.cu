// Layer, group and RMS normalisation: a warp or a block takes a row. column_norm.h has the form for batches.
#include "cuda/norm/column_norm.h"
#include "cuda/norm/entries.h"
#include "cuda/norm/row_moments.h"
#include "cuda/reduce/combine.h"

namespace halftone::cuda {
namespace {

enum : int { kX, kResidual, kSum, kOut };

struct Settings {
  RowStatistics statistics;
  double epsilon;
  RowChannels channels;
  bool adds;  // a residual
  RowStatisticsMemory moments;
  const void* weight;  // in the compute type; null for none
  const void* bias;
};

// Sums term(x) over the row.
template <int T, bool kKept, class C, class Tile, class Term>
HALFTONE_DEVICE C sum_of(const RowReader<T, 4>& row, RowValues<C, kKept>& values, const Tile& tile, Term&& term) {
  C sum = 0;
  values.each(row.tiles(), tile, [&](int64_t k, C(&x)[kTile]) {
    C terms[kTile];
#pragma unroll
    for (int i = 0; i < kTile; ++i) terms[i] = row.exists(k, i) ? term(x[i]) : C(0);
    sum += combined<Plus>(terms);
  });
  return sum_row<T>(sum);
}

template <int T, bool kKept, class C, class Tile>
HALFTONE_DEVICE RowMoments find_moments(const RowReader<T, 4>& row, RowStatistics statistics,
                                        RowValues<C, kKept>& values, const Tile& tile) {
  const C count = static_cast<C>(row.length());
  if (statistics == RowStatistics::kMeanSquare) {
    return {0.0, static_cast<double>(sum_of(row, values, tile, [](C x) { return x * x; }) / count)};
  }
  const C near_mean = sum_of(row, values, tile, [](C x) { return x; }) / count;
  const C deviations = sum_of(row, values, tile, [=](C x) { return x - near_mean; });
  const C squares = sum_of(row, values, tile, [=](C x) { return (x - near_mean) * (x - near_mean); });
  return moments_of(near_mean, deviations, squares, row.length());
}

// The moments of a row whose first ones, summed in C, leave the range; see norm_range.h. Reads the row again, so that
// the values that others keep stay in registers.
template <class C, int T>
HALFTONE_NOINLINE HALFTONE_DEVICE RowMoments moments_out_of_range(const RowReader<T, 4>& row, RowStatistics statistics,
                                                                  double first_variance) {
  const double scale = scale_of_sums<C>(first_variance);
  const auto sum = [&](auto&& term) {
    double sum = 0;
    for (int64_t k = 0; k < row.tiles(); ++k) {
      C x[kTile];
      row.load(kSum, k, C(0), x);
      for (int i = 0; i < kTile; ++i) {
        if (row.exists(k, i)) sum += term(scale * static_cast<double>(x[i]));
      }
    }
    return sum_row<T>(sum);
  };
  const double count = static_cast<double>(row.length());
  RowMoments scaled;
  if (statistics == RowStatistics::kMeanSquare) {
    scaled = {0.0, sum([](double x) { return x * x; }) / count};
  } else {
    const double near_mean = sum([](double x) { return x; }) / count;
    const double deviations = sum([=](double x) { return x - near_mean; });
    scaled = moments_of(near_mean, deviations, sum([=](double x) { return (x - near_mean) * (x - near_mean); }),
                        row.length());
  }
  return {scaled.mean / scale, stored_variance(scaled.variance, scale)};
}

template <class C>
HALFTONE_NOINLINE HALFTONE_DEVICE C rounded_to(DType dtype, C value) {
  visit_element_type(dtype, [&]<class E>() { value = widen<C>(narrow<E>(value)); });
  return value;
}

// The elements as a tensor of `dtype` would hold them.
template <class C>
HALFTONE_DEVICE void round_to(DType dtype, C (&values)[kTile]) {
  const auto round_all = [&]<class E>() {
#pragma unroll
    for (int i = 0; i < kTile; ++i) values[i] = widen<C>(narrow<E>(values[i]));
  };
  if (visit_trained_type<C>(dtype, round_all)) return;
#pragma unroll
  for (int i = 0; i < kTile; ++i) values[i] = rounded_to(dtype, values[i]);
}

// Writes the sum with the residual, and leaves in `x` what the sum's tensor holds.
template <class C, int T>
HALFTONE_DEVICE void add_residual(const RowReader<T, 4>& row, int64_t k, C (&x)[kTile]) {
  C residual[kTile];
  row.load(kResidual, k, C(0), residual);
#pragma unroll
  for (int i = 0; i < kTile; ++i) x[i] += residual[i];
  round_to(row.dtype(kSum), x);
  row.store(kSum, k, x);
}

template <class C, int T>
HALFTONE_DEVICE void store_normalised(const RowReader<T, 4>& row, int64_t k, const Settings& settings, int64_t channel,
                                      const Normaliser<C>& normaliser, C (&x)[kTile]) {
#pragma unroll
  for (int i = 0; i < kTile; ++i) x[i] = normaliser(x[i]);
  C values[kTile];
  if (settings.weight != nullptr) {
    load_channels(row, k, settings.channels, static_cast<const C*>(settings.weight) + channel, values);
#pragma unroll
    for (int i = 0; i < kTile; ++i) x[i] *= values[i];
  }
  if (settings.bias != nullptr) {
    load_channels(row, k, settings.channels, static_cast<const C*>(settings.bias) + channel, values);
#pragma unroll
    for (int i = 0; i < kTile; ++i) x[i] += values[i];
  }
  row.store(kOut, k, x);
}

template <class C, int T, bool kKept>
HALFTONE_DEVICE void normalise_row(const RowReader<T, 4>& row, int64_t index, const Settings& settings) {
  // A row that is read again is read from the sum after the first time; each thread reads what it wrote itself.
  bool adds = settings.adds;
  const auto tile = [&](int64_t k, C(&x)[kTile]) {
    row.load(settings.adds && !adds ? kSum : kX, k, C(0), x);
    if (adds) add_residual(row, k, x);
  };
  RowValues<C, kKept> values(row.tiles(), tile);
  if (!kKept && adds) values.each(row.tiles(), tile, [](int64_t, C(&)[kTile]) {});
  adds = false;
  RowMoments moments;
  if (settings.statistics == RowStatistics::kGiven) {
    moments = settings.moments.load(index);
  } else {
    moments = find_moments(row, settings.statistics, values, tile);
    if (leaves_range<C>(moments.variance, settings.epsilon)) {
      moments = moments_out_of_range<C>(row, settings.statistics, moments.variance);
    }
    if (row.leads()) settings.moments.store(index, moments);
  }
  const Normaliser<C> normaliser = normaliser_of<C>(moments, settings.epsilon);
  const int64_t channel = settings.channels.first(index);
  values.each(row.tiles(), tile,
              [&](int64_t k, C(&x)[kTile]) { store_normalised(row, k, settings, channel, normaliser, x); });
}

template <class C, int T, bool kKept>
HALFTONE_KERNEL normalise_rows(RowSet<4> set, Settings settings) {
  for_each_row<T>(set.rows,
                  [&](int64_t index) { normalise_row<C, T, kKept>(RowReader<T, 4>(set, index), index, settings); });
}

template <class C>
Status run(Stream& stream, const RowSet<4>& set, const Settings& settings) {
  const Grid warps = grid_for_row_threads(set.rows, kWarp), blocks = grid_for_row_threads(set.rows, kThreads);
  if (fits_in_registers(set.length, kWarp)) {
    return launch(stream, warps, normalise_rows<C, kWarp, true>, set, settings);
  }
  if (fits_in_registers(set.length, kThreads)) {
    return launch(stream, blocks, normalise_rows<C, kThreads, true>, set, settings);
  }
  return launch(stream, blocks, normalise_rows<C, kThreads, false>, set, settings);
}

}  // namespace

Status row_norm(Stream& stream, const RowNorm& norm, const NormInput& input, const NormAffine& affine,
                const NormStatistics& statistics, const View& out) noexcept {
  if (input.x.numel() == 0) return {};
  if (is_column_norm(norm, input.x)) return column_norm(stream, norm, input.x, affine, statistics, out);
  const bool adds = input.residual.data != nullptr;
  const View& residual = adds ? input.residual : input.x;
  const View& sum = adds ? input.sum : input.x;
  const RowSet<4> set = row_set({&input.x, &residual, &sum, &out}, norm.rows);
  const Settings settings = {.statistics = norm.statistics,
                             .epsilon = norm.epsilon,
                             .channels = channels_of(norm, input.x),
                             .adds = adds,
                             .moments = memory_of(statistics, norm),
                             .weight = affine.weight.data,
                             .bias = affine.bias.data};
  return with_float_type(sum.dtype, [&]<class C>() { return run<C>(stream, set, settings); });
}

}  // namespace halftone::cuda
