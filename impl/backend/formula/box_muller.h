// Two random words to two independent standard normals (Box and Muller, 1958). Plain FP32 arithmetic without calls into
// libm, so that every device, instruction set and C library gives equal bits. Pure functions, safe from any thread.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/host_device.h"

namespace halftone {

// ln(value) for a normal value in (0, 1], to 2 ulp. value = 2^exponent * mantissa with mantissa in [0.71, 1.42), and
// ln(mantissa) = 2 atanh(s) with s = (mantissa - 1) / (mantissa + 1), so that values near 1 keep their relative
// accuracy.
HALFTONE_HOST_DEVICE inline float log_of_uniform(float value) {
  const uint32_t word = std::bit_cast<uint32_t>(value) - 0x3f3504f3;  // the bits of sqrt(1/2)
  const int32_t exponent = static_cast<int32_t>(word) >> 23;
  const float mantissa = std::bit_cast<float>((word & 0x7fffff) + 0x3f3504f3);
  const float s = (mantissa - 1.0f) / (mantissa + 1.0f);
  const float s2 = s * s;
  const float series = ((s2 * (1.0f / 9.0f) + 1.0f / 7.0f) * s2 + 1.0f / 5.0f) * s2 + 1.0f / 3.0f;
  return static_cast<float>(exponent) * 0.693147181f + (2.0f * s + 2.0f * s * s2 * series);
}

struct SinCos {
  float sin;
  float cos;
};

// sin and cos of 2 pi * word / 2^24, to 2^-23. REQUIRES: word < 2^24. The turn is split exactly into the nearest
// quarter and a rest of at most an eighth, for which Taylor series to x^9 and x^10 are exact to FP32.
HALFTONE_HOST_DEVICE inline SinCos sin_cos_of_turn(uint32_t word) {
  const uint32_t quarter = (word + (1u << 21)) >> 22;
  const int32_t rest = static_cast<int32_t>(word) - static_cast<int32_t>(quarter << 22);
  const float x = static_cast<float>(rest) * (6.28318531f * 0x1p-24f);
  const float x2 = x * x;
  const float sin_series = ((x2 * 2.7557319e-6f - 1.9841270e-4f) * x2 + 8.3333333e-3f) * x2 - 0.16666667f;
  const float cos_series = ((x2 * -2.7557319e-7f + 2.4801587e-5f) * x2 - 1.3888889e-3f) * x2 + 4.1666667e-2f;
  const float sin = x + x * x2 * sin_series;
  const float cos = 1.0f - 0.5f * x2 + x2 * x2 * cos_series;
  const float even = (quarter & 1) != 0 ? cos : sin;  // |sin| of the whole turn
  const float odd = (quarter & 1) != 0 ? sin : cos;
  return {(quarter & 2) != 0 ? -even : even, ((quarter + 1) & 2) != 0 ? -odd : odd};
}

struct NormalPair {
  float first;
  float second;
};

// The radius comes from (0, 1], so that its logarithm is finite: the largest normal is sqrt(48 ln 2) = 5.77.
HALFTONE_HOST_DEVICE inline NormalPair box_muller(uint32_t radius_word, uint32_t angle_word) {
  const float uniform = static_cast<float>((radius_word >> 8) + 1) * 0x1p-24f;
  const float radius = std::sqrt(-2.0f * log_of_uniform(uniform));
  const SinCos angle = sin_cos_of_turn(angle_word >> 8);
  return {radius * angle.cos, radius * angle.sin};
}

}  // namespace halftone
