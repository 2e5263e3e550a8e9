#include "analysis/exact_sum.h"

#include <bit>
#include <cmath>

namespace halftone::analysis {
namespace {

constexpr uint64_t kDigitMask = 0xffffffff;
// Each addition changes a digit by less than 2^33, so that it stays below 2^54.
constexpr int32_t kMostAdditions = 1 << 20;

}  // namespace

void ExactSum::add(double value) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const int exponent = static_cast<int>(bits >> 52) & 0x7ff;
  if (exponent == 0x7ff) {
    special_ += value;
    return;
  }
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  const uint64_t significand = exponent == 0 ? fraction : fraction | uint64_t{1} << 52;
  const int place = exponent == 0 ? 0 : exponent - 1;
  const uint64_t low = (significand & kDigitMask) << (place % 32);
  const uint64_t high = (significand >> 32) << (place % 32);
  const int64_t sign = std::signbit(value) ? -1 : 1;
  int64_t* digit = &digits_[static_cast<size_t>(place / 32)];
  digit[0] += sign * static_cast<int64_t>(low & kDigitMask);
  digit[1] += sign * static_cast<int64_t>((low >> 32) + (high & kDigitMask));
  digit[2] += sign * static_cast<int64_t>(high >> 32);
  if (++since_carry_ < kMostAdditions) return;
  carry(digits_);
  since_carry_ = 0;
}

// Afterwards every digit is in [0, 2^32), but the last one has the sum's sign.
void ExactSum::carry(Digits& digits) {
  int64_t above = 0;
  for (int64_t& digit : digits) {
    above += digit;
    digit = above & static_cast<int64_t>(kDigitMask);
    above >>= 32;
  }
  digits.back() += above * (int64_t{1} << 32);
}

double ExactSum::rounded(bool to_odd) const {
  if (special_ != 0) return special_;  // NaN, too
  Digits digits = digits_;
  carry(digits);
  const bool is_negative = digits.back() < 0;
  if (is_negative) {
    for (int64_t& digit : digits) digit = -digit;
    carry(digits);
  }
  int top = kDigits - 1;
  while (top > 0 && digits[static_cast<size_t>(top)] == 0) --top;
  const auto digit_at = [&](int i) { return i < 0 ? 0 : static_cast<uint64_t>(digits[static_cast<size_t>(i)]); };
  if (digit_at(top) == 0) return 0;

  // The 64 highest bits, and whether any bit below them is 1.
  const int zeros = std::countl_zero(static_cast<uint32_t>(digit_at(top)));
  const uint64_t leading = (digit_at(top) << 32 | digit_at(top - 1)) << zeros | digit_at(top - 2) >> (32 - zeros);
  bool is_lossy = (digit_at(top - 2) & (kDigitMask >> zeros)) != 0;
  for (int i = top - 3; i >= 0 && !is_lossy; --i) is_lossy = digit_at(i) != 0;

  // A sum below the smallest normal double has at most 52 bits, so none of the 11 bits that are dropped here is 1.
  constexpr uint64_t kHalf = 1 << 10;
  const uint64_t dropped = leading & (2 * kHalf - 1);
  uint64_t kept = leading >> 11;
  if (to_odd) {
    kept |= dropped != 0 || is_lossy ? 1 : 0;
  } else {
    const bool is_above = dropped > kHalf || (dropped == kHalf && is_lossy);
    kept += is_above || (dropped == kHalf && kept % 2 == 1) ? 1 : 0;
  }
  const double magnitude = std::ldexp(static_cast<double>(kept), 32 * (top - 1) - zeros + 11 + kUnit);
  return is_negative ? -magnitude : magnitude;
}

}  // namespace halftone::analysis
