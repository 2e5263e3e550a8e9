// Moments in 8 bits: codes with one FP32 scale, the largest magnitude, for each block of 256 elements. Every backend's
// update pass calls these; pure functions, safe from any thread.
//
// A code is a small float: its magnitude is counted in FP32's own order, so steps between codes are even within a
// factor of 2. Below the scale each halving takes many codes, and further down fewer:
//   first moment    magnitudes 127 to 95: 2 halvings of 16 codes; to 55: 5 of 8; to 1: 4 codes each, to 1.5 * 2^-21
//   second moment   codes 255 to 191: 2 halvings of 32 codes; to 39: 19 of 8; to 1: 2 codes each, to 2^-40
// The root of the second moment, which AdamW divides by, so has the range of the first moment: 6 decades. Second
// moments have the finer codes at the top: most steps move them by far less than a code, so their roundings add up as
// those of a random walk do, whose relative variance is half the relative step between codes, whatever beta2 is.
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

// The codes of a kind. In FP32's bits the numbers of codes lie on three lines, which meet at the knees: from the high
// knee on there are 2^kHighShift numbers of FP32 from one code to the next, from the low knee on 2^kMiddleShift, and
// below it 2^kLowShift.
struct SignedForm {
  static constexpr int kHighShift = 19;
  static constexpr int kMiddleShift = 20;
  static constexpr int kLowShift = 21;
  static constexpr int32_t kHighKnee = 95;
  static constexpr int32_t kLowKnee = 55;
  static constexpr float kFirst = kCodeTop * 0x1.8p-21f;  // the number of code 1
};
struct UnsignedForm {
  static constexpr int kHighShift = 18;
  static constexpr int kMiddleShift = 20;
  static constexpr int kLowShift = 22;
  static constexpr int32_t kHighKnee = 191;
  static constexpr int32_t kLowKnee = 39;
};

// The bits that each line has at code 0. The high knee of both kinds is two halvings below the top.
template <class Form>
struct CodeLines {
  static constexpr int32_t kHighKnee = std::bit_cast<int32_t>(kCodeTop / 4.0f);
  static constexpr int32_t kHigh = kHighKnee - (Form::kHighKnee << Form::kHighShift);
  static constexpr int32_t kMiddle = kHighKnee - (Form::kHighKnee << Form::kMiddleShift);
  static constexpr int32_t kLow =
      kMiddle + (Form::kLowKnee << Form::kMiddleShift) - (Form::kLowKnee << Form::kLowShift);
  // From bits on the middle and the low line, shifted to the distances of the high line, to bits on that.
  static constexpr int kMiddleToHigh = Form::kMiddleShift - Form::kHighShift;
  static constexpr int kLowToHigh = Form::kLowShift - Form::kHighShift;
  static constexpr int32_t kFromMiddle = kHigh - (kMiddle >> kMiddleToHigh);
  static constexpr int32_t kFromLow = kHigh - (kLow >> kLowToHigh);
};

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

// The number that a magnitude is read as. The lines are steeper further down, so it is on the lowest of them.
template <class Form>
HALFTONE_HOST_DEVICE float number_of_code(int32_t magnitude) {
  using Lines = CodeLines<Form>;
  const int32_t high = Lines::kHigh + (magnitude << Form::kHighShift);
  const int32_t middle = Lines::kMiddle + (magnitude << Form::kMiddleShift);
  const int32_t low = Lines::kLow + (magnitude << Form::kLowShift);
  const int32_t upper = high < middle ? high : middle;
  return magnitude == 0 ? 0.0f : std::bit_cast<float>(upper < low ? upper : low);
}

// The place of a number between the codes: the bits that it would have if the high line held all codes. Below code 1 it
// is not above that of code 1.
template <class Form>
HALFTONE_HOST_DEVICE int32_t place_of_number(float number) {
  using Lines = CodeLines<Form>;
  const auto high = std::bit_cast<int32_t>(number);
  const int32_t middle = (high >> Lines::kMiddleToHigh) + Lines::kFromMiddle;
  const int32_t low = (high >> Lines::kLowToHigh) + Lines::kFromLow;
  const int32_t lower = middle > low ? middle : low;
  return high > lower ? high : lower;
}

// Rounds a place to a code: up for as many words as its share of the way to the next code, because bits of floats are
// linear there. A word is in the middle of the numbers that it stands for. The result is 0 or less below code 1.
template <class Form>
inline constexpr int32_t kRoundUp = (1 << Form::kHighShift) - CodeLines<Form>::kHigh - (1 << (Form::kHighShift - 17));
template <class Form>
HALFTONE_HOST_DEVICE int32_t code_of_place(int32_t place, uint16_t word) {
  return (place + kRoundUp<Form> - (int32_t{word} << (Form::kHighShift - 16))) >> Form::kHighShift;
}

// Both products are rounded: the largest value may come out one number of FP32 above the top, which no word rounds up.
// NaN never comes here.
HALFTONE_HOST_DEVICE inline float coded_number(float value, float scale) { return std::fabs(value) * to_code(scale); }

HALFTONE_HOST_DEVICE inline float decode_signed(int8_t code, float scale) {
  const float number = number_of_code<SignedForm>(code < 0 ? -code : code);
  return from_code(scale) * (code < 0 ? -number : number);
}

// A first moment below this part of code 1 becomes 0. Rounded up it would be more than 4 times the moment, without a
// bound for smaller ones, and the root of an FP32 second moment, which Adam divides by, can be as small as the moment:
// single steps of a thousand learning rates. Decays by 0.25 and more stay unbiased, since code 1 decays to no less.
inline constexpr float kLeastPart = 0.25f;

// The places from code 0 to code 1 are the bits of a sum, whose first term has those of code 0. Its numbers are 2^-29
// apart, and so many lie between both codes that the second term is 2^-10 at code 1.
inline constexpr float kZeroPlace = std::bit_cast<float>(CodeLines<SignedForm>::kHigh);
inline constexpr float kPartToPlace = 0x1p-10f / SignedForm::kFirst;
static_assert(kZeroPlace >= 0x1p-6f && kZeroPlace + 0x1p-10f < 0x1p-5f && SignedForm::kHighShift == 19);

HALFTONE_HOST_DEVICE inline int32_t place_below_first(float number) {
  constexpr float kFirst = SignedForm::kFirst;
  const float part = number < kLeastPart * kFirst ? 0.0f : number < kFirst ? number : kFirst;
  return std::bit_cast<int32_t>(kZeroPlace + part * kPartToPlace);
}

// Rounds to one of the two codes beside the value. As many of the 65,536 equally likely words give the code of larger
// magnitude as make the mean the value, to 2^-17 of the step between the codes. Cases:
//   0, and less than a quarter of code 1   code 0
//   tiny beside the scale, but more        code 0 or 1; it decays to 0 in the mean and then stays 0
//   the value that a code is read as       that code, but for two words at most, since FP32 rounds the value
//   infinite, NaN                          never passed here: block_scale returns NaN and the block has no codes
// REQUIRES: |value| <= scale, which is kLeastScale or more and finite.
HALFTONE_HOST_DEVICE inline int8_t encode_signed(float value, float scale, uint16_t word) {
  const float number = coded_number(value, scale);
  const int32_t above = place_of_number<SignedForm>(number), below = place_below_first(number);
  const int32_t code = code_of_place<SignedForm>(above > below ? above : below, word);
  return static_cast<int8_t>(value < 0.0f ? -code : code);
}

HALFTONE_HOST_DEVICE inline float decode_unsigned(uint8_t code, float scale) {
  return from_code(scale) * number_of_code<UnsignedForm>(code);
}

// As encode_signed. Cases: 0 is code 0; a value between 0 and code 1 is code 1, since a second moment of 0 with a first
// moment above 0 would divide by epsilon alone. REQUIRES: 0 <= value <= scale, which is kLeastScale or more and finite.
HALFTONE_HOST_DEVICE inline uint8_t encode_unsigned(float value, float scale, uint16_t word) {
  const int32_t code = code_of_place<UnsignedForm>(place_of_number<UnsignedForm>(coded_number(value, scale)), word);
  const int32_t least = value > 0.0f ? 1 : 0;
  return static_cast<uint8_t>(code > least ? code : least);
}

}  // namespace halftone
