#include "analysis/what_if/predict.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "analysis/what_if/magnitudes.h"
#include "analysis/what_if/weighted_errors.h"
#include "backend/formula/scaling.h"

namespace halftone::analysis {
namespace {

constexpr int kSamples = 1024;  // of an octave

// A point of the unit cube.
struct Point {
  double x;
  double y;
  double z;
};

// The multiples of the powers of 1 / g, where g^4 = g + 1.
Point point(int64_t index) {
  constexpr double kInverse = 0.8191725133961645;
  const auto fraction = [&](double step) { return std::fmod(0.5 + static_cast<double>(index) * step, 1.0); };
  return {fraction(kInverse), fraction(kInverse * kInverse), fraction(kInverse * kInverse * kInverse)};
}

uint32_t word_of(double share) { return static_cast<uint32_t>(share * 0x1p32); }

// A number with its sign, the elements that it stands for, and two numbers of [0, 1) of its own.
struct Sample {
  double value;
  double weight;
  Point point;
};

// The last number decides on the sign: those who round by chance do not depend on it.
Sample sample(double magnitude, double weight, const Point& at) {
  return {at.z < 0.5 ? magnitude : -magnitude, weight, at};
}

// Calls add(Sample) for numbers that stand for all elements other than 0.
template <class Add>
void for_each_sample(const Magnitudes& magnitudes, const Add& add) {
  const TensorSummary& summary = magnitudes.summary();
  if (magnitudes.nonzero() == 0) return;
  const double ends[] = {summary.amax(), summary.amin()};
  const int end_count = magnitudes.nonzero() > 1 ? 2 : 1;
  int64_t index = 0;
  int64_t inner[kExponentBins];
  std::copy(std::begin(summary.exponents), std::end(summary.exponents), inner);
  for (int end = 0; end < end_count; ++end, ++index) {
    --inner[magnitude_of(static_cast<float>(ends[end])) >> 23];
    add(sample(ends[end], 1, point(index)));
  }
  for (int bin = 0; bin < kExponentBins; ++bin) {
    const double weight = static_cast<double>(inner[bin]) / kSamples;
    for (int i = 0; weight > 0 && i < kSamples; ++i, ++index) {
      const Point at = point(index);
      add(sample(magnitudes.in_bin(bin, at.x), weight, at));
    }
  }
}

RoundingErrors with_counts(RoundingErrors errors, const TensorSummary& summary, double scale,
                           const FormatBits& format) {
  for (const int64_t count : summary.exponents) errors.nonzero += count;
  errors.zeros = summary.extremes.zeros;
  errors.non_finite = summary.extremes.infinities + summary.extremes.nans;
  errors.largest = scale * summary.amax();
  errors.loss_scale = loss_scale(errors.largest, format);
  return errors;
}

// A scale of a block, times that of the tensor, and the value with both applied in the kernels' steps.
struct ScaledValue {
  double scale;
  float value;
};

class BlockScaler {
 public:
  BlockScaler(const TensorSummary& summary, const ScaledRounding& rule)
      : rule_(rule),
        largest_(largest_of(rule.format)),
        amax_bits_(summary.extremes.largest),
        tensor_scale_(nv_tensor_scale(amax_bits_)) {}

  ScaledValue scaled(float value, float block_amax) const {
    const uint32_t amax_bits = magnitude_of(block_amax);
    switch (rule_.layout) {
      case ops::ScaleLayout::kBlock1x128:
      case ops::ScaleLayout::kBlock128x128:
        return times(value, power_scale(amax_bits, largest_));
      case ops::ScaleLayout::kMx1x32:
        return times(value, mx_scale(amax_bits, largest_, rule_.scale_rounds_up));
      case ops::ScaleLayout::kNv1x16:
      case ops::ScaleLayout::kNv16x16: {
        const ScaledValue block = times(value, nv_scale(amax_bits, tensor_scale_));
        return {block.scale * tensor_scale_, block.value};
      }
      default: {
        const BlockScale<float> tensor = row_scale(amax_bits_, largest_);
        return {tensor.scale, value / tensor.factor};
      }
    }
  }

 private:
  template <class Scale>
  static ScaledValue times(float value, const BlockScale<Scale>& block) {
    return {static_cast<float>(block.scale), value * block.factor};
  }

  const ScaledRounding rule_;
  const float largest_;
  const uint32_t amax_bits_;
  const float tensor_scale_;
};

double elements_of_block(ops::ScaleLayout layout) {
  const ops::BlockSize size = ops::block_size(layout, {1, 1});
  return static_cast<double>(size.rows * size.columns);
}

}  // namespace

RoundingErrors predict_rounding(const TensorSummary& summary, DType dtype, const FormatRounding& rule, double scale) {
  const Magnitudes magnitudes(summary, dtype);
  const FormatRounder rounder(rule);
  WeightedErrors errors;
  for_each_sample(magnitudes, [&](const Sample& sample) {
    const uint32_t random = rule.rounding == Rounding::kStochastic ? word_of(sample.point.z) : 0;
    const double value = sample.value * scale;
    const Rounded rounded = rounder.round(value, random);
    errors.add(value, rounded.result, rounded, sample.weight);
  });
  return with_counts(errors.done(), summary, scale, rule.format);
}

RoundingErrors predict_scaled(const TensorSummary& summary, DType dtype, const ScaledRounding& rule) {
  const Magnitudes magnitudes(summary, dtype);
  const FormatBits format = bits_of(rule.format);
  const FormatRounder rounder(
      {.format = format, .rounding = rule.stochastic ? Rounding::kStochastic : Rounding::kNearestEven});
  const BlockScaler scaler(summary, rule);
  const double finite = magnitudes.nonzero() + static_cast<double>(summary.extremes.zeros);
  const double others = std::min(elements_of_block(rule.layout), finite) - 1;
  WeightedErrors errors;
  for_each_sample(magnitudes, [&](const Sample& sample) {
    // A share s of blocks has no other element above the magnitude that a share s^(1/others) of elements is below.
    const double other = others > 0 ? magnitudes.of_share(std::pow(sample.point.y, 1 / others)) : 0;
    const auto [scale, value] =
        scaler.scaled(static_cast<float>(sample.value), static_cast<float>(std::max(other, std::fabs(sample.value))));
    const Rounded rounded = rounder.round(value, rule.stochastic ? word_of(sample.point.z) : 0);
    errors.add(sample.value, rounded.result * scale, rounded, sample.weight);
  });
  return with_counts(errors.done(), summary, 1, format);
}

}  // namespace halftone::analysis
