// Moments of rows, and the numbers that normalise an element. Device code.
#pragma once

#include <cmath>
#include <limits>

#include "backend/formula/norm_range.h"
#include "backend/kernels/norm.h"
#include "cuda/norm/row.h"

namespace halftone::cuda {

// Mean and biased variance of one row or channel.
struct RowMoments {
  double mean;
  double variance;
};

// Computes the moments from the sums of `count` deviations from a number near the mean, and of their squares. Cases: a
// constant gives variance 0, never less; NaN and infinities give variance NaN; an infinite mean stays infinite.
HALFTONE_DEVICE inline RowMoments moments_of(double near_mean, double deviations, double squares, int64_t count) {
  const double correction = deviations / static_cast<double>(count);
  const double variance = squares / static_cast<double>(count) - correction * correction;
  return {std::isinf(near_mean) ? near_mean : near_mean + correction, variance < 0.0 ? 0.0 : variance};
}

// The arrays of NormStatistics.
struct RowStatisticsMemory {
  double* means;
  double* variances;
  bool are_given;

  // A variance below 0 that a caller gave is no variance: NaN.
  HALFTONE_DEVICE RowMoments load(int64_t row) const {
    const bool is_wrong = are_given && variances[row] < 0.0;
    return {means[row], is_wrong ? std::numeric_limits<double>::quiet_NaN() : variances[row]};
  }
  HALFTONE_DEVICE void store(int64_t row, const RowMoments& moments) const {
    means[row] = moments.mean;
    variances[row] = moments.variance;
  }
};

inline RowStatisticsMemory memory_of(const NormStatistics& statistics, const RowNorm& norm) {
  return {static_cast<double*>(statistics.mean.data), static_cast<double*>(statistics.variance.data),
          norm.statistics == RowStatistics::kGiven && !norm.are_stored};
}

// (x - mean) / sqrt(variance + epsilon). The mean is split in two numbers: near 1e6 FP32 resolves only 1/16.
template <class C>
struct Normaliser {
  C scale;  // of the elements, a power of two; high, low and rstd are those of the scaled row
  C high;
  C low;
  C rstd;
  HALFTONE_DEVICE C operator()(C x) const { return ((x * scale - high) - low) * rstd; }
  // slope / sqrt(variance + epsilon)
  HALFTONE_DEVICE C divided(C slope) const { return rstd * slope * scale; }
};

template <class C>
HALFTONE_DEVICE inline Normaliser<C> normaliser_of(const RowMoments& moments, double epsilon) {
  const double deviation = deviation_of(moments.variance, epsilon);
  const double scale = scale_of_elements<C>(moments.mean, deviation), mean = moments.mean * scale;
  const C high = static_cast<C>(mean);
  return {static_cast<C>(scale), high, static_cast<C>(mean - static_cast<double>(high)),
          static_cast<C>(1.0 / (deviation * scale))};
}

// The channels of rows, as RowNorm describes them.
struct RowChannels {
  int64_t groups;
  int64_t spatial;
  int64_t count;  // of one row

  HALFTONE_DEVICE int64_t first(int64_t row) const { return groups == 1 ? 0 : row % groups * count; }
  HALFTONE_DEVICE int64_t at(int64_t element) const {
    if (spatial == 1) return element;
    const bool is_small = (element | spatial) <= INT32_MAX;
    return is_small ? static_cast<uint32_t>(element) / static_cast<uint32_t>(spatial) : element / spatial;
  }
};

inline RowChannels channels_of(const RowNorm& norm, const View& x) {
  return {norm.groups, norm.spatial, x.numel() / norm.rows / norm.spatial};
}

// As load_channels, for any channels. A function of its own, since its divisions are long code.
template <class C, int T, int N>
HALFTONE_NOINLINE HALFTONE_DEVICE void load_scattered_channels(const RowReader<T, N>& row, int64_t k,
                                                               const RowChannels& channels, const C* values, C* out) {
  for (int i = 0; i < kTile; ++i) out[i] = row.exists(k, i) ? values[channels.at(row.index(k, i))] : C(0);
}

// The values of the channels of a thread's tile k. `values` is that of the row's first channel.
template <class C, int T, int N>
HALFTONE_DEVICE inline void load_channels(const RowReader<T, N>& row, int64_t k, const RowChannels& channels,
                                          const C* values, C (&out)[kTile]) {
  const bool is_tiled = row.is_tiled() && channels.spatial == 1 && reinterpret_cast<uintptr_t>(values) % 16 == 0;
  if (is_tiled && row.exists(k, 0)) return load_tile_of<C>(values, row.index(k, 0), out);
  C scattered[kTile];
  load_scattered_channels(row, k, channels, values, scattered);
#pragma unroll
  for (int i = 0; i < kTile; ++i) out[i] = scattered[i];
}

}  // namespace halftone::cuda
