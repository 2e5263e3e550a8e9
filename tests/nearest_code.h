// The reference for conversions to small floats. It shares no code with the library: a table holds every finite
// magnitude of a format, computed from the format's definition. The two neighbours of a value are looked up, and the
// value is compared with their midpoint in a type that represents both exactly. Used from one thread, because it
// remembers its last position.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/dtype.h"

namespace halftone {

class NearestCode {
 public:
  // REQUIRES: a float format of at most 16 bits.
  explicit NearestCode(DType dtype) : format_(format_of(dtype)) {
    // One more than the finite codes: the next magnitude that larger exponents would give.
    for (int code = 0; code <= format_.largest + 1; ++code) magnitudes_.push_back(magnitude(code));
  }

  // The code of an FP32 pattern; NaN keeps the upper part of its payload, as far as the format has room.
  uint32_t of_word(uint32_t word) {
    const uint32_t sign = word >> 31 << (format_.bits - 1);
    const uint32_t magnitude_bits = word & 0x7fffffffu;
    if (magnitude_bits > 0x7f800000u) return sign | nan(word);
    float value;
    std::memcpy(&value, &magnitude_bits, sizeof value);
    return sign | of_magnitude<double>(static_cast<double>(value));
  }

  // F represents `value` exactly: double, or long double for int64.
  template <class F>
  uint32_t of(F value) {
    const uint32_t sign = std::signbit(value) ? 1u << (format_.bits - 1) : 0;
    return sign | of_magnitude(std::fabs(value));
  }

  // The value of a finite code.
  double value(uint32_t code) const {
    const double size = magnitude(static_cast<int>(code & ((1u << (format_.bits - 1)) - 1)));
    return code >> (format_.bits - 1) != 0 ? -size : size;
  }
  int bits() const { return format_.bits; }
  int largest() const { return format_.largest; }

 private:
  struct Format {
    int bits;
    int mantissa_bits;
    int bias;
    int largest;        // code of the largest finite magnitude
    uint32_t overflow;  // code of values beyond it
    bool payload;       // NaN keeps upper payload bits
    uint32_t nan;
  };

  static Format format_of(DType dtype) {
    if (dtype == DType::kF16) return {16, 10, 15, 0x7bff, 0x7c00, true, 0x7e00};
    if (dtype == DType::kBF16) return {16, 7, 127, 0x7f7f, 0x7f80, true, 0x7fc0};
    if (dtype == DType::kF8E4M3) return {8, 3, 7, 0x7e, 0x7e, false, 0x7f};
    return {8, 2, 15, 0x7b, 0x7c, false, 0x7e};
  }

  double magnitude(int code) const {
    const int exponent = code >> format_.mantissa_bits;
    const int mantissa = code & ((1 << format_.mantissa_bits) - 1);
    const int whole = exponent == 0 ? mantissa : mantissa + (1 << format_.mantissa_bits);
    return std::ldexp(static_cast<double>(whole), std::max(exponent, 1) - format_.bias - format_.mantissa_bits);
  }

  uint32_t nan(uint32_t word) const {
    if (!format_.payload) return format_.nan;
    return format_.nan | ((word & 0x7fffffu) >> (23 - format_.mantissa_bits));
  }

  template <class F>
  uint32_t of_magnitude(F value) {
    const size_t last = magnitudes_.size() - 1;
    if (value >= magnitudes_[last]) return format_.overflow;
    if (!(magnitudes_[place_] <= value && value < magnitudes_[place_ + 1])) {
      const auto above = std::upper_bound(magnitudes_.begin(), magnitudes_.end(), value);
      place_ = static_cast<size_t>(above - magnitudes_.begin()) - 1;
    }
    const F midpoint = static_cast<F>((magnitudes_[place_] + magnitudes_[place_ + 1]) / 2);
    const bool up = value > midpoint || (value == midpoint && place_ % 2 == 1);
    const size_t code = place_ + (up ? 1 : 0);
    return code == last ? format_.overflow : static_cast<uint32_t>(code);
  }

  Format format_;
  std::vector<double> magnitudes_;
  size_t place_ = 0;
};

}  // namespace halftone
