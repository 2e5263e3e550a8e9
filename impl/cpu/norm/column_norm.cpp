// Batch normalisation of [n, channels]: a row of the normalisation is a column in memory. Reads strips of adjacent
// columns item by item, so that memory is read in order. Computes the same formulas as row_norm.cpp.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/norm/column_norm.cpp"
#include "cpu/norm/column_norm.h"

#include <algorithm>

#include "cpu/device.h"
#include "cpu/norm/statistics.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/norm/moments.h"
#include "cpu/rows/column_sums.h"
#include "cpu/simd/tile_io.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// A view [channels, items].
struct Matrix {
  explicit Matrix(const View& view)
      : elements{static_cast<std::byte*>(view.data), view.dtype, 1},
        channel_stride(view.strides[0]),
        item_stride(view.strides[1]) {}
  // One item of a strip of channels.
  Strided at(int64_t channel, int64_t item) const {
    return moved(elements, channel * channel_stride + item * item_stride, channel_stride);
  }
  bool exists() const { return elements.data != nullptr; }

  Strided elements;
  int64_t channel_stride;
  int64_t item_stride;
};

template <class C>
inline constexpr int64_t kWidth = kStripWidth<C>;

// A strip of adjacent channels with their normalisers.
template <class C>
struct ChannelStrip {
  ChannelStrip(int64_t index, int64_t channels)
      : first(index * kWidth<C>), width(std::min(kWidth<C>, channels - first)) {}

  void set(int64_t channel, const Moments& moments, double epsilon) {
    const Normaliser<C> normaliser(moments, epsilon);
    scale[channel] = normaliser.scale;
    high[channel] = normaliser.high;
    low[channel] = normaliser.low;
    rstd[channel] = normaliser.rstd;
    is_scaled = is_scaled || normaliser.scale != C{1};
  }
  template <bool kScaled>
  HWY_INLINE void normalise(const C* HWY_RESTRICT x, C* HWY_RESTRICT out) const {
    if constexpr (kScaled) {
      for (int64_t j = 0; j < width; ++j) out[j] = ((x[j] * scale[j] - high[j]) - low[j]) * rstd[j];
    } else {
      for (int64_t j = 0; j < width; ++j) out[j] = ((x[j] - high[j]) - low[j]) * rstd[j];
    }
  }
  // Multiplies numbers that were computed with rstd by the channels' scales.
  template <bool kScaled>
  HWY_INLINE void unscale(C* HWY_RESTRICT row) const {
    if constexpr (!kScaled) return;
    for (int64_t j = 0; j < width; ++j) row[j] *= scale[j];
  }

  int64_t first;
  int64_t width;
  bool is_scaled = false;
  alignas(64) C scale[kWidth<C>];
  alignas(64) C high[kWidth<C>];
  alignas(64) C low[kWidth<C>];
  alignas(64) C rstd[kWidth<C>];
};

// The part of per-channel values that belongs to the strip; null stays null.
template <class C>
const C* part_of(const View& values, int64_t first) {
  return values.data == nullptr ? nullptr : static_cast<const C*>(values.data) + first;
}

template <class C>
int64_t strip_count(const RowNorm& norm) {
  return (norm.rows + kWidth<C> - 1) / kWidth<C>;
}

// ---- Forward

template <class C>
void find_moments(const ColumnSplit& split, const Matrix& x, const ChannelStrip<C>& strip, double epsilon,
                  const Layout& channels, const NormStatistics& statistics) {
  alignas(64) C means[kWidth<C>];
  sum_columns<C, 1>(split, strip.width, means, [&](int64_t item, C* HWY_RESTRICT sums, C* tile) {
    const C* HWY_RESTRICT row = read(x.at(strip.first, item), strip.width, tile);
    for (int64_t j = 0; j < strip.width; ++j) sums[j] += row[j];
  });
  for (int64_t j = 0; j < strip.width; ++j) means[j] /= static_cast<C>(split.items());
  alignas(64) C deviations[2 * kWidth<C>];
  sum_columns<C, 2>(split, strip.width, deviations, [&](int64_t item, C* HWY_RESTRICT sums, C* tile) {
    const C* HWY_RESTRICT row = read(x.at(strip.first, item), strip.width, tile);
    for (int64_t j = 0; j < strip.width; ++j) {
      const C deviation = row[j] - means[j];
      sums[j] += deviation;
      sums[kWidth<C> + j] += deviation * deviation;
    }
  });
  for (int64_t j = 0; j < strip.width; ++j) {
    const int64_t channel = strip.first + j;
    Moments moments = moments_of(means[j], deviations[j], deviations[kWidth<C> + j], split.items());
    if (leaves_range<C>(moments.variance, epsilon)) {
      TileReader<C> reader(channels);
      moments = moments_out_of_range<C>(RowStatistics::kMeanAndVariance, moments.variance, reader,
                                        channel * split.items(), split.items());
    }
    set_moments(statistics, channel, moments);
  }
}

template <bool kScaled, class C>
void normalise_items(const ColumnSplit& split, const Matrix& x, const ChannelStrip<C>& strip, const NormAffine& affine,
                     const Matrix& out) {
  const C* HWY_RESTRICT weight = part_of<C>(affine.weight, strip.first);
  const C* HWY_RESTRICT bias = part_of<C>(affine.bias, strip.first);
  split.for_each_item([&](int64_t item) {
    alignas(64) C tile[kWidth<C>];
    write_row<C>(out.at(strip.first, item), strip.width, [&](C* HWY_RESTRICT row) {
      strip.template normalise<kScaled>(read(x.at(strip.first, item), strip.width, tile), row);
      if (weight != nullptr) {
        for (int64_t j = 0; j < strip.width; ++j) row[j] *= weight[j];
      }
      if (bias != nullptr) {
        for (int64_t j = 0; j < strip.width; ++j) row[j] += bias[j];
      }
    });
  });
}

template <class C>
void forward_as(ThreadPool& pool, const RowNorm& norm, const View& x, const NormAffine& affine,
                const NormStatistics& statistics, const View& out) {
  const Matrix from(x), to(out);
  const Layout channels(x);
  for_each_column_strip(pool, strip_count<C>(norm), std::min(norm.rows, kWidth<C>), x.shape[1],
                        [&](int64_t index, const ColumnSplit& split) {
                          ChannelStrip<C> strip(index, norm.rows);
                          if (norm.statistics != RowStatistics::kGiven) {
                            find_moments(split, from, strip, norm.epsilon, channels, statistics);
                          }
                          for (int64_t j = 0; j < strip.width; ++j)
                            strip.set(j, moments_at(statistics, norm, strip.first + j), norm.epsilon);
                          if (strip.is_scaled) return normalise_items<true>(split, from, strip, affine, to);
                          normalise_items<false>(split, from, strip, affine, to);
                        });
}

// ---- Backward; row_norm.cpp gives the formula

// Sums the gradient over the items, and its product with the normalised items.
template <bool kScaled, class C>
void sum_gradients(const ColumnSplit& split, const Matrix& grads, const Matrix& x, const ChannelStrip<C>& strip,
                   C* sums) {
  sum_columns<C, 2>(split, strip.width, sums, [&](int64_t item, C* HWY_RESTRICT step, C* tile) {
    alignas(64) C normalised[kWidth<C>];
    strip.template normalise<kScaled>(read(x.at(strip.first, item), strip.width, tile), normalised);
    const C* HWY_RESTRICT grad = read(grads.at(strip.first, item), strip.width, tile);
    for (int64_t j = 0; j < strip.width; ++j) {
      step[j] += grad[j];
      step[kWidth<C> + j] += grad[j] * normalised[j];
    }
  });
}

// The coefficients of a strip in grad_input = rstd * ((weight * grad - mean) - normalised * projection).
template <class C>
struct GradientStrip {
  GradientStrip(const ChannelStrip<C>& strip, const C* weight, const C* sums, int64_t items) {
    const C share = static_cast<C>(1.0 / static_cast<double>(items));
    for (int64_t j = 0; j < strip.width; ++j) {
      scale[j] = weight == nullptr ? C{1} : weight[j];
      mean[j] = share * sums[j] * scale[j];
      projection[j] = share * sums[kWidth<C> + j] * scale[j];
    }
  }
  alignas(64) C scale[kWidth<C>];
  alignas(64) C mean[kWidth<C>];
  alignas(64) C projection[kWidth<C>];
};

template <bool kScaled, class C>
void write_gradients(const ColumnSplit& split, const Matrix& grads, const Matrix& x, const ChannelStrip<C>& strip,
                     const GradientStrip<C>& gradient, const Matrix& out) {
  split.for_each_item([&](int64_t item) {
    alignas(64) C tile[kWidth<C>];
    alignas(64) C normalised[kWidth<C>];
    strip.template normalise<kScaled>(read(x.at(strip.first, item), strip.width, tile), normalised);
    const C* HWY_RESTRICT grad = read(grads.at(strip.first, item), strip.width, tile);
    write_row<C>(out.at(strip.first, item), strip.width, [&](C* HWY_RESTRICT row) {
      for (int64_t j = 0; j < strip.width; ++j) {
        const C centred = gradient.scale[j] * grad[j] - gradient.mean[j];
        row[j] = strip.rstd[j] * (centred - normalised[j] * gradient.projection[j]);
      }
      strip.template unscale<kScaled>(row);
    });
  });
}

// Given statistics do not depend on the items, so the gradient is that of a product.
template <bool kScaled, class C>
void write_gradients_of_given(const ColumnSplit& split, const Matrix& grads, const ChannelStrip<C>& strip,
                              const C* weight, const Matrix& out) {
  split.for_each_item([&](int64_t item) {
    alignas(64) C tile[kWidth<C>];
    const C* HWY_RESTRICT grad = read(grads.at(strip.first, item), strip.width, tile);
    write_row<C>(out.at(strip.first, item), strip.width, [&](C* HWY_RESTRICT row) {
      for (int64_t j = 0; j < strip.width; ++j) row[j] = strip.rstd[j] * grad[j];
      strip.template unscale<kScaled>(row);
      if (weight == nullptr) return;
      for (int64_t j = 0; j < strip.width; ++j) row[j] *= weight[j];
    });
  });
}

// A strip's sums are complete, so they go to the first piece's row; the other rows are 0.
template <class C>
void store_sums(const View& sums, int64_t first, int64_t width, const C* values) {
  if (sums.data == nullptr) return;
  for (int64_t piece = 0; piece < sums.shape[0]; ++piece) {
    C* row = static_cast<C*>(sums.data) + piece * sums.shape[1] + first;
    for (int64_t j = 0; j < width; ++j) row[j] = piece == 0 ? values[j] : C{0};
  }
}

template <bool kScaled, class C>
void strip_gradients(const RowNorm& norm, const NormSaved& saved, const NormGrads& out_grads, const ColumnSplit& split,
                     const ChannelStrip<C>& strip) {
  const Matrix grads(saved.grad_output), x(saved.x);
  alignas(64) C sums[2 * kWidth<C>];
  sum_gradients<kScaled>(split, grads, x, strip, sums);
  store_sums(out_grads.bias_sums, strip.first, strip.width, sums);
  store_sums(out_grads.weight_sums, strip.first, strip.width, sums + kWidth<C>);
  if (out_grads.input.data == nullptr) return;
  const Matrix to(out_grads.input);
  const C* weight = part_of<C>(saved.weight, strip.first);
  if (norm.statistics == RowStatistics::kGiven) {
    write_gradients_of_given<kScaled>(split, grads, strip, weight, to);
  } else {
    const GradientStrip<C> gradient(strip, weight, sums, split.items());
    write_gradients<kScaled>(split, grads, x, strip, gradient, to);
  }
}

template <class C>
void backward_as(ThreadPool& pool, const RowNorm& norm, const NormSaved& saved, const NormGrads& out_grads) {
  for_each_column_strip(pool, strip_count<C>(norm), std::min(norm.rows, kWidth<C>), saved.x.shape[1],
                        [&](int64_t index, const ColumnSplit& split) {
                          ChannelStrip<C> strip(index, norm.rows);
                          for (int64_t j = 0; j < strip.width; ++j) {
                            strip.set(j, moments_at(saved.statistics, norm, strip.first + j), norm.epsilon);
                          }
                          if (strip.is_scaled) return strip_gradients<true>(norm, saved, out_grads, split, strip);
                          strip_gradients<false>(norm, saved, out_grads, split, strip);
                        });
}

}  // namespace

void column_norm_forward(ThreadPool& pool, const RowNorm& norm, const View& x, const NormAffine& affine,
                         const NormStatistics& statistics, const View& out) {
  const bool wide = x.dtype == DType::kF64;
  (wide ? forward_as<double> : forward_as<float>)(pool, norm, x, affine, statistics, out);
}

void column_norm_gradients(ThreadPool& pool, const RowNorm& norm, const NormSaved& saved, const NormGrads& out_grads) {
  const bool wide = saved.x.dtype == DType::kF64;
  (wide ? backward_as<double> : backward_as<float>)(pool, norm, saved, out_grads);
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(column_norm_forward);
HWY_EXPORT(column_norm_gradients);

bool is_column_norm(const RowNorm& norm, const View& x) noexcept {
  if (norm.groups != norm.rows || norm.statistics == RowStatistics::kMeanSquare || x.rank() < 2) return false;
  // Layer normalisation over all dimensions also has as many rows as groups (one), but its row spans all dimensions.
  const bool has_row_for_each_index = x.shape[0] == norm.rows && x.shape[1] == norm.spatial;
  return has_row_for_each_index && norm.rows > 1 && norm.rows * norm.spatial == x.numel() &&
         x.strides[0] < x.strides[1];
}

void column_norm(ThreadPool& pool, const RowNorm& norm, const View& x, const NormAffine& affine,
                 const NormStatistics& statistics, const View& out) noexcept {
  HWY_DYNAMIC_DISPATCH(column_norm_forward)(pool, norm, x, affine, statistics, out);
}

void column_norm_backward(ThreadPool& pool, const RowNorm& norm, const NormSaved& saved,
                          const NormGrads& out_grads) noexcept {
  HWY_DYNAMIC_DISPATCH(column_norm_gradients)(pool, norm, saved, out_grads);
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
