// The reference of scaled tensors: plain loops in double over a matrix of FP32 values. It shares no code with the
// library: codes are looked up in tables that the definitions of the formats give.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/philox.h"
#include "ops/scaled/scaled.h"

namespace halftone {

// The magnitudes of the finite codes of a format, in order: code c without sign has magnitude c of the list.
inline std::vector<double> code_magnitudes(NumberFormat format) {
  if (format == NumberFormat::kE2M1) return {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  const bool is_e4m3 = format == NumberFormat::kE4M3;
  const int mantissas = is_e4m3 ? 8 : 4, bias = is_e4m3 ? 7 : 15, count = is_e4m3 ? 127 : 124;
  std::vector<double> result;
  for (int code = 0; code < count; ++code) {
    const int exponent = code / mantissas, mantissa = code % mantissas;
    const double significand = exponent == 0 ? mantissa : mantissas + mantissa;
    result.push_back(std::ldexp(significand / mantissas, std::max(exponent, 1) - bias));
  }
  return result;
}

// The place of a magnitude between two codes: the lower one, and the share of the way to the next.
struct CodePlace {
  int lower;
  double share;
};
inline CodePlace place_of(double magnitude, const std::vector<double>& codes) {
  if (magnitude >= codes.back()) return {static_cast<int>(codes.size()) - 1, 0};
  const auto above = std::upper_bound(codes.begin(), codes.end(), magnitude);
  const double low = above[-1];
  return {static_cast<int>(above - codes.begin()) - 1, (magnitude - low) / (*above - low)};
}

struct ScaledReference {
  std::vector<uint8_t> codes;  // one for each element
  std::vector<float> scales;   // row-major
  float tensor_scale = 1;
  std::vector<float> values;
};

class ScaledModel {
 public:
  ScaledModel(const ops::ScaleOptions& options, int64_t rows, int64_t columns, const std::vector<float>& x)
      : options_(options), rows_(rows), columns_(columns), x_(x), magnitudes_(code_magnitudes(options.format)) {}

  // The scale that every block gets, for ScaleLayout::kTensor with a given scale.
  void give_scale(float scale) { given_ = scale, is_given_ = true; }

  ScaledReference run() {
    ScaledReference result;
    result.codes.resize(x_.size());
    result.values.resize(x_.size());
    if (ops::is_nv(options_.layout)) result.tensor_scale = tensor_scale();
    const int64_t height = block_height(), width = block_width();
    for (int64_t row = 0; row < rows_; row += height) {
      for (int64_t column = 0; column < columns_; column += width) {
        const float amax = largest(row, column, height, width);
        const float scale = is_given_ ? given_ : scale_of(amax, result.tensor_scale);
        result.scales.push_back(scale);
        for_each(row, column, height, width, [&](int64_t i) {
          const uint8_t code = code_of(i, scaled(x_[at(i)], scale, result.tensor_scale));
          result.codes[at(i)] = code;
          result.values[at(i)] = value_of(code) * scale * result.tensor_scale;
        });
      }
    }
    return result;
  }

 private:
  using Layout = ops::ScaleLayout;

  static size_t at(int64_t i) { return static_cast<size_t>(i); }

  int64_t block_height() const {
    if (options_.layout == Layout::kTensor) return std::max<int64_t>(1, rows_);
    if (options_.layout == Layout::kBlock128x128) return 128;
    return options_.layout == Layout::kNv16x16 ? 16 : 1;
  }
  int64_t block_width() const {
    switch (options_.layout) {
      case Layout::kTensor:
      case Layout::kRow:
        return std::max<int64_t>(1, columns_);
      case Layout::kBlock1x128:
      case Layout::kBlock128x128:
        return 128;
      case Layout::kMx1x32:
        return 32;
      case Layout::kNv1x16:
      case Layout::kNv16x16:
        break;
    }
    return 16;
  }

  template <class F>
  void for_each(int64_t row, int64_t column, int64_t height, int64_t width, F&& f) {
    for (int64_t r = row; r < std::min(rows_, row + height); ++r) {
      for (int64_t c = column; c < std::min(columns_, column + width); ++c) f(r * columns_ + c);
    }
  }

  // NaN if any element is not finite.
  float largest(int64_t row, int64_t column, int64_t height, int64_t width) {
    float most = 0;
    for_each(row, column, height, width, [&](int64_t i) {
      const float magnitude = std::fabs(x_[at(i)]);
      most = std::isfinite(magnitude) && !std::isnan(most) ? std::max(most, magnitude) : NAN;
    });
    return most;
  }

  float tensor_scale() {
    const float amax = largest(0, 0, rows_, columns_);
    if (std::isnan(amax)) return NAN;
    return amax == 0 ? 1 : std::max(amax / 2688.0f, 0x1p-120f);
  }

  // The smallest power of two s in [2^least, 2^127] with amax / s <= the largest code.
  float power_up(float amax, int least) const {
    int exponent = least;
    while (exponent < 127 && static_cast<double>(amax) > std::ldexp(magnitudes_.back(), exponent)) ++exponent;
    return std::ldexp(1.0f, exponent);
  }
  float power_down(float amax) const {
    if (amax == 0) return 0x1p-127f;
    const int exponent = std::ilogb(amax) - std::ilogb(magnitudes_.back());
    return std::ldexp(1.0f, std::clamp(exponent, -127, 127));
  }

  float scale_of(float amax, float tensor_scale) const {
    const float quotient = amax / static_cast<float>(magnitudes_.back());
    if (std::isnan(amax) || std::isnan(tensor_scale)) return NAN;
    switch (options_.layout) {
      case Layout::kTensor:
      case Layout::kRow:
        return quotient == 0 ? 1 : quotient;
      case Layout::kBlock1x128:
      case Layout::kBlock128x128:
        return amax == 0 ? 1 : power_up(amax, -126);
      case Layout::kMx1x32:
        return options_.scale_rounds_up ? power_up(amax, -127) : power_down(amax);
      case Layout::kNv1x16:
      case Layout::kNv16x16:
        break;
    }
    const std::vector<double> e4m3 = code_magnitudes(NumberFormat::kE4M3);
    const float wanted = std::clamp(amax / 6.0f / tensor_scale, 0x1p-6f, 448.0f);
    return static_cast<float>(e4m3[static_cast<size_t>(nearest(place_of(wanted, e4m3)))]);
  }

  // The number that becomes a code.
  float scaled(float value, float scale, float tensor_scale) const {
    if (std::isinf(value)) return NAN;
    if (options_.layout == Layout::kTensor || options_.layout == Layout::kRow) {
      return std::isnan(scale) ? value / INFINITY : value / scale;
    }
    if (std::isnan(scale)) return value * 0.0f;
    if (ops::is_nv(options_.layout)) return value * (1.0f / tensor_scale / scale);
    return static_cast<float>(static_cast<double>(value) / static_cast<double>(scale));
  }

  static int nearest(const CodePlace& place) {
    const bool up = place.share > 0.5 || (place.share == 0.5 && place.lower % 2 == 1);
    return place.lower + (up ? 1 : 0);
  }
  // The random word of element i.
  int word(int64_t i) const {
    const int64_t blocks = (columns_ + 255) / 256, row = i / columns_, column = i % columns_;
    const auto number = static_cast<uint64_t>((row * blocks + column / 256) * 256 + column % 256);
    const uint32_t drawn = philox(options_.key, number / 8)[number % 8 / 2];
    return static_cast<int>(number % 2 == 0 ? drawn & 0xffff : drawn >> 16);
  }

  uint8_t code_of(int64_t i, float scaled) const {
    const bool is_e2m1 = options_.format == NumberFormat::kE2M1;
    const int sign = std::signbit(x_[at(i)]) ? (is_e2m1 ? 8 : 128) : 0;
    if (std::isnan(scaled)) return static_cast<uint8_t>(sign | (is_e2m1 ? 7 : nan_code()));
    const CodePlace place = place_of(std::fabs(static_cast<double>(scaled)), magnitudes_);
    const bool up = place.share >= (65535.5 - word(i)) / 65536;
    return static_cast<uint8_t>(sign | (options_.stochastic ? place.lower + (up ? 1 : 0) : nearest(place)));
  }
  int nan_code() const { return options_.format == NumberFormat::kE4M3 ? 127 : 126; }

  float value_of(uint8_t code) const {
    const bool is_e2m1 = options_.format == NumberFormat::kE2M1;
    const size_t magnitude = code & (is_e2m1 ? 7 : 127);
    const float size = magnitude < magnitudes_.size() ? static_cast<float>(magnitudes_[magnitude]) : NAN;
    return (code & (is_e2m1 ? 8 : 128)) != 0 ? -size : size;
  }

  ops::ScaleOptions options_;
  int64_t rows_;
  int64_t columns_;
  const std::vector<float>& x_;
  std::vector<double> magnitudes_;
  float given_ = 1;
  bool is_given_ = false;
};

}  // namespace halftone
