// Scales of blocks from their largest magnitudes, and codes of values under a scale, shared by the backends. A value is
// its code times the scale of its block (times the scale of the tensor). Device-callable, pure.
//
// Cases of every scale: it is never 0; a block of zeros has codes of 0 under any scale; a block with an infinity or NaN
// has a scale of NaN, so that all its values read NaN and an overflow is seen. Its codes are those of value * 0.
#pragma once

#include <bit>
#include <cstdint>

#include "backend/formula/quantization.h"
#include "core/host_device.h"
#include "core/number/float4.h"
#include "core/number/float8.h"
#include "core/number/number_format.h"
#include "core/number/scale8.h"

namespace halftone {

// The largest number of a format of codes; 0 for other formats.
HALFTONE_HOST_DEVICE constexpr float largest_of(NumberFormat format) {
  if (format == NumberFormat::kE4M3) return 448;
  if (format == NumberFormat::kE5M2) return 57344;
  return format == NumberFormat::kE2M1 ? 6 : 0;
}

// The scale of a block, and the factor that its values are multiplied with before they become codes: 1 / scale, exactly
// for powers of two, and 0 for a scale of NaN. For row_scale the divisor instead.
template <class Scale>
struct BlockScale {
  Scale scale;
  float factor;
};

// ---- Powers of two

// 2^(127 - 254) = 2^-127 is a subnormal FP32 and exact.
HALFTONE_HOST_DEVICE constexpr float factor_of(ScaleE8M0 scale) {
  return scale.bits == 255 ? 0.0f : static_cast<float>(ScaleE8M0{static_cast<uint8_t>(254 - scale.bits)});
}

// E8M0 of MX: by OCP's rule or, so that nothing saturates, rounded up. A block of zeros has 2^-127.
HALFTONE_HOST_DEVICE constexpr BlockScale<ScaleE8M0> mx_scale(uint32_t amax_bits, float largest, bool rounds_up) {
  const float amax = std::bit_cast<float>(amax_bits);
  const ScaleE8M0 scale = rounds_up ? ScaleE8M0::rounded_up(amax, largest) : ScaleE8M0::rounded_down(amax, largest);
  return {scale, factor_of(scale)};
}

// An FP32 power of two, rounded up, from 2^-126; 1 of a block of zeros.
HALFTONE_HOST_DEVICE constexpr BlockScale<float> power_scale(uint32_t amax_bits, float largest) {
  const uint8_t up = ScaleE8M0::rounded_up(std::bit_cast<float>(amax_bits), largest).bits;
  const uint8_t normal = up == 0 ? 1 : up;
  const ScaleE8M0 scale = {amax_bits == 0 ? uint8_t{127} : normal};
  return {static_cast<float>(scale), factor_of(scale)};
}

// ---- Any FP32 number

// The scale of a row or a tensor. A subnormal `amax` has a scale of few digits, under which values may saturate; where
// the quotient is less than `least`, the scale is `least`, or 1 if that is 0 and so is the quotient.
HALFTONE_HOST_DEVICE constexpr float divided_scale(uint32_t amax_bits, float largest, float least) {
  const float quotient = std::bit_cast<float>(amax_bits) / largest;
  const float bounded = quotient > least ? quotient : least;
  const float scale = amax_bits == 0 || bounded == 0 ? 1.0f : bounded;
  return amax_bits >= 0x7f800000 ? std::bit_cast<float>(0x7fc00000) : scale;
}

// Values are divided by these scales, as htone_quantize does it. By infinity where the scale is NaN.
HALFTONE_HOST_DEVICE constexpr float divisor_of(float scale) {
  return scale == scale ? scale : std::bit_cast<float>(0x7f800000);
}

HALFTONE_HOST_DEVICE constexpr BlockScale<float> row_scale(uint32_t amax_bits, float largest) {
  const float scale = divided_scale(amax_bits, largest, 0);
  return {scale, divisor_of(scale)};
}

// Delayed scaling: the largest of two magnitudes of a history as bits. Infinities and NaN do not count.
HALFTONE_HOST_DEVICE constexpr uint32_t larger_finite(uint32_t most, float magnitude) {
  const uint32_t bits = magnitude_bits(magnitude);
  return bits < 0x7f800000 && bits > most ? bits : most;
}

// The scale that follows from the magnitude `most` of a history, never 0 or infinite.
HALFTONE_HOST_DEVICE constexpr float history_scale(uint32_t most, float largest, float factor) {
  constexpr float kLeast = 0x1p-126f, kMost = 0x1p127f;
  const float scale = divided_scale(most, largest, /*least=*/0) * factor;
  const float bounded = scale > kLeast ? scale : kLeast;
  return bounded < kMost ? bounded : kMost;
}

// ---- E4M3 under an FP32 scale of the tensor: NVFP4

// The least scale of a tensor: 1 / (tensor_scale * scale) is finite for every scale of a block.
inline constexpr float kLeastTensorScale = 0x1p-120f;
// The largest and the least scale of a block: the bounds of normal E4M3 numbers. torchao has the same.
inline constexpr float kLargestNvScale = 448;
inline constexpr float kLeastNvScale = 0x1p-6f;

// The tensor's amax / (448 * 6).
HALFTONE_HOST_DEVICE constexpr float nv_tensor_scale(uint32_t amax_bits) {
  return divided_scale(amax_bits, kLargestNvScale * largest_of(NumberFormat::kE2M1), kLeastTensorScale);
}

// Each step rounds once in FP32, in this order, which is torchao's. Written without branches: it takes most of the time
// of a block of 16.
HALFTONE_HOST_DEVICE constexpr BlockScale<Float8E4M3> nv_scale(uint32_t amax_bits, float tensor_scale) {
  const float wanted = std::bit_cast<float>(amax_bits) / 6.0f / tensor_scale;
  // Copies: device code has no addresses of constants of a namespace.
  const float least = kLeastNvScale, largest = kLargestNvScale;
  const float bounded = wanted > least ? wanted : least;
  const uint32_t bits = std::bit_cast<uint32_t>(bounded < largest ? bounded : largest);
  // A normal number of E4M3, to nearest even: three bits of the mantissa stay.
  const uint32_t rounded = (bits + 0x7ffff + (bits >> 20 & 1)) & ~0xfffffu;
  const float factor = 1.0f / tensor_scale / std::bit_cast<float>(rounded);
  const bool is_nan = !(tensor_scale == tensor_scale) || amax_bits >= 0x7f800000;
  const uint32_t code = is_nan ? 0x7f : (rounded >> 20) - (120 << 3);
  return {{static_cast<uint8_t>(code)}, is_nan ? 0.0f : factor};
}

// ---- Codes

// A magnitude, 0 to `largest` or NaN, as a code without sign, up or down by chance, so that the mean is the magnitude.
// As many of the 65,536 equally likely words round up as the share of the way to the next code says; a word is in the
// middle of the numbers that it stands for, so a number of the format stays. NaN gives nonsense.
template <int mantissa_bits, int min_exponent>
HALFTONE_HOST_DEVICE constexpr uint32_t round_small_float(float magnitude, uint16_t word) {
  constexpr int shift = 23 - mantissa_bits;
  constexpr uint32_t min_normal = static_cast<uint32_t>(min_exponent + 127) << 23;
  constexpr float steps = std::bit_cast<float>(static_cast<uint32_t>(127 + mantissa_bits - min_exponent) << 23);
  const uint32_t bits = std::bit_cast<uint32_t>(magnitude);
  const uint32_t share = (uint32_t{word} << 1 | 1) << (shift - 17);
  const uint32_t normal = (bits + share - min_normal + (1u << 23)) >> shift;
  // Numbers of subnormal steps. Larger magnitudes do not come this way; a bound keeps their conversion defined.
  const float small = bits < min_normal ? magnitude * steps : 0.0f;
  const int32_t floor = static_cast<int32_t>(small);
  const float rest = small - static_cast<float>(floor);
  const float least = (65535.5f - static_cast<float>(word)) * 0x1p-16f;  // exact, as a sum with `rest` would not be
  return bits < min_normal ? static_cast<uint32_t>(floor + (rest >= least ? 1 : 0)) : normal;
}

// The magnitude of a value that was multiplied by the factor of its scale, as a code; `word` only if `stochastic`.
// Beyond the largest number it saturates. NaN and infinity, which would hide an overflow if it saturated: the NaN of an
// 8-bit format; 6 in E2M1, which has none.
template <int mantissa_bits, int min_exponent, uint32_t nan_code>
HALFTONE_HOST_DEVICE constexpr uint32_t code_magnitude(float value, float scaled, float largest, bool stochastic,
                                                       uint16_t word) {
  const uint32_t bits = magnitude_bits(scaled);
  const float magnitude = std::bit_cast<float>(bits);
  const float bounded = magnitude > largest ? largest : magnitude;
  if (bits > 0x7f800000 || magnitude_bits(value) == 0x7f800000) return nan_code;
  return stochastic ? round_small_float<mantissa_bits, min_exponent>(bounded, word)
                    : detail::encode_small_float<mantissa_bits, min_exponent>(bounded);
}

// The sign is that of `value`: where infinity met a factor of 0, the sign of the product would depend on the machine.
HALFTONE_HOST_DEVICE constexpr uint8_t code_of(NumberFormat format, float value, float scaled, bool stochastic,
                                               uint16_t word) {
  const float largest = largest_of(format);
  const uint32_t sign = std::bit_cast<uint32_t>(value) >> 31;
  if (format == NumberFormat::kE4M3) {
    return static_cast<uint8_t>(sign << 7 | code_magnitude<3, -6, 0x7f>(value, scaled, largest, stochastic, word));
  }
  if (format == NumberFormat::kE5M2) {
    return static_cast<uint8_t>(sign << 7 | code_magnitude<2, -14, 0x7e>(value, scaled, largest, stochastic, word));
  }
  return static_cast<uint8_t>(sign << 3 | code_magnitude<1, 0, 7>(value, scaled, largest, stochastic, word));
}

HALFTONE_HOST_DEVICE constexpr float number_of_code(NumberFormat format, uint8_t code) {
  if (format == NumberFormat::kE4M3) return Float8E4M3{code};
  if (format == NumberFormat::kE5M2) return Float8E5M2{code};
  return Float4E2M1{code};
}

}  // namespace halftone
