// Moments in 8 bits: codes with one FP32 scale, the largest magnitude, for each block of 256 elements. Every backend's
// update pass calls these; pure functions, safe from any thread.
//
// A code is a small float: its magnitude is counted in FP32's own order, so steps between codes are even within a
// factor of 2. Below the scale, each halving takes 8 codes, and further down 4:
//   first moment    magnitudes 127 to 63: 8 halvings of 8 codes; 63 to 1: 4 codes each, down to 1.5 * 2^-24
//   second moment   codes 255 to 127: 16 halvings of 8 codes; 127 to 1: 4 codes each, down to 1.5 * 2^-48
// The root of the second moment, which AdamW divides by, so has the range of the first moment: 7 decades, in which a
// code is at most 12.5 % above the one below, and 25 % in the lower half.
//
// Both are rounded stochastically. Rounding to nearest cannot decay: a step without a gradient multiplies a second
// moment by beta2, and at 0.999 each code is nearest to itself afterwards, so it would stay for ever. A block with an
// element that is not finite reads NaN throughout: 8 bits have no room for it.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/host_device.h"

namespace halftone {

// Elements are multiplied by kCodeTop / scale, which is a normal number for every scale, so that codes are those of
// numbers from 0 to kCodeTop.
inline constexpr float kCodeTop = 4.0f;

// The codes of a kind: from the knee on there are 8 for each factor of 2, below it 4.
struct SignedForm {
  static constexpr int32_t kKnee = 63;
  static constexpr int32_t kKneeBits =
      std::bit_cast<int32_t>(kCodeTop * 0x1p-8f);         // FP32's, of the number it is read as
  static constexpr float kFirst = kCodeTop * 0x1.8p-24f;  // the number of code 1
};
struct UnsignedForm {
  static constexpr int32_t kKnee = 127;
  static constexpr int32_t kKneeBits = std::bit_cast<int32_t>(kCodeTop * 0x1p-16f);
  static constexpr float kFirst = kCodeTop * 0x1.8p-48f;
};

// FP32's bits between two codes above the knee: 2^20, an 8th of a factor of 2.
inline constexpr int kCodeShift = 20;

// Scales are at least this, so that no number that a code is read as is subnormal.
inline constexpr float kLeastScale = 0x1p-78f;

// A block's scale from the largest magnitude's bits: as integers NaN is larger than infinity, infinity than all else;
// 0 stays 0.
HALFTONE_HOST_DEVICE inline float block_scale(uint32_t largest_magnitude) {
  if (largest_magnitude >= 0x7f800000) return std::numeric_limits<float>::quiet_NaN();
  const float largest = std::bit_cast<float>(largest_magnitude);
  return largest_magnitude == 0 || largest > kLeastScale ? largest : kLeastScale;
}

// The factors from a value to the number that is coded, and back, common to a block.
HALFTONE_HOST_DEVICE inline float to_code(float scale) { return kCodeTop / scale; }
HALFTONE_HOST_DEVICE inline float from_code(float scale) { return scale * (1.0f / kCodeTop); }

// The number that a magnitude is read as.
template <class Form>
HALFTONE_HOST_DEVICE float number_of_code(int32_t magnitude) {
  const int32_t above = (magnitude - Form::kKnee) * (1 << kCodeShift);
  const float number = std::bit_cast<float>(Form::kKneeBits + (above < 0 ? 2 * above : above));
  return magnitude == 0 ? 0.0f : number;
}

// A word in the place of the bits that a code lacks, in the middle of the 2^4 numbers that it stands for.
HALFTONE_HOST_DEVICE inline int32_t code_word(uint16_t word) { return (int32_t{word} << (kCodeShift - 16)) + 8; }

// The magnitude, for a number of code 1 or more: a word rounds up if it lies within the number's share of the way to
// the next code, because bits of floats are linear there. The result is 0 or less for smaller numbers.
template <class Form>
HALFTONE_HOST_DEVICE int32_t code_of_number(float number, int32_t word) {
  const int32_t bits = std::bit_cast<int32_t>(number) - Form::kKneeBits;
  return Form::kKnee + 1 + (((bits < 0 ? bits >> 1 : bits) - word) >> kCodeShift);
}

// The factor is rounded: the largest value may come out a little above the top. NaN never comes here.
HALFTONE_HOST_DEVICE inline float coded_number(float value, float scale) {
  const float number = std::fabs(value) * to_code(scale);
  return number < kCodeTop ? number : float{kCodeTop};
}

HALFTONE_HOST_DEVICE inline float decode_signed(int8_t code, float scale) {
  const float number = number_of_code<SignedForm>(code < 0 ? -code : code);
  return from_code(scale) * (code < 0 ? -number : number);
}

// A first moment below this part of code 1 becomes 0. Rounded up it would be more than 4 times the moment, without a
// bound for smaller ones, and the root of an FP32 second moment, which Adam divides by, can be as small as the moment:
// single steps of a thousand learning rates. Decays by 0.25 and more stay unbiased, since code 1 decays to no less.
inline constexpr float kLeastPart = 0.25f;

// Rounds to one of the two codes beside the value. As many of the 65,536 equally likely words give the code of larger
// magnitude as make the mean the value, to 2^-17 of the step between the codes. Cases:
//   0, and less than a quarter of code 1   code 0
//   tiny beside the scale, but more        code 0 or 1; it decays to 0 in the mean and then stays 0
//   the value that a code is read as       that code, but for two words at most, since FP32 rounds the value
//   infinite, NaN                          never passed here: block_scale returns NaN and the block has no codes
// REQUIRES: |value| <= scale, which is kLeastScale or more and finite.
HALFTONE_HOST_DEVICE inline int8_t encode_signed(float value, float scale, uint16_t word) {
  constexpr float kFirst = SignedForm::kFirst;
  const float number = coded_number(value, scale);
  const int32_t above = code_of_number<SignedForm>(number, code_word(word));
  const bool is_first =
      number >= kLeastPart * kFirst && static_cast<float>(code_word(word)) * (kFirst * 0x1p-20f) <= number;
  const int32_t code = number < kFirst ? (is_first ? 1 : 0) : above;
  return static_cast<int8_t>(value < 0.0f ? -code : code);
}

HALFTONE_HOST_DEVICE inline float decode_unsigned(uint8_t code, float scale) {
  return from_code(scale) * number_of_code<UnsignedForm>(code);
}

// As encode_signed. Cases: 0 is code 0; a value between 0 and code 1 is code 1, since a second moment of 0 with a first
// moment above 0 would divide by epsilon alone. REQUIRES: 0 <= value <= scale, which is kLeastScale or more and finite.
HALFTONE_HOST_DEVICE inline uint8_t encode_unsigned(float value, float scale, uint16_t word) {
  const int32_t code = code_of_number<UnsignedForm>(coded_number(value, scale), code_word(word));
  const int32_t least = value > 0.0f ? 1 : 0;
  return static_cast<uint8_t>(code > least ? code : least);
}

}  // namespace halftone
