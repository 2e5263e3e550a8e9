// Rows of values as codes under one scale. For kernel files that Highway compiles once per instruction set: include
// after hwy/highway.h.
#if defined(HALFTONE_CPU_SCALED_CODES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_SCALED_CODES_INL_H
#undef HALFTONE_CPU_SCALED_CODES_INL_H
#else
#define HALFTONE_CPU_SCALED_CODES_INL_H
#endif

#include "backend/formula/scaling.h"
#include "cpu/simd/vectors.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

template <class Code>
inline constexpr NumberFormat format_of = NumberFormat::kE2M1;
template <>
inline constexpr NumberFormat format_of<Float8E4M3> = NumberFormat::kE4M3;
template <>
inline constexpr NumberFormat format_of<Float8E5M2> = NumberFormat::kE5M2;

// A code of E2M1 in a byte of its own.
struct UnpackedE2M1 {
  uint8_t bits;
};

// REQUIRES: magnitudes of at most 6, or NaN.
template <class DF>
HWY_INLINE void narrow(DF df, VectorOf<DF> value, UnpackedE2M1* out) {
  const hn::RebindToUnsigned<DF> du;
  const auto word = hn::BitCast(du, value);
  const auto magnitude = hn::And(word, hn::Set(du, 0x7fffffff));
  const auto code = encode_small<1, 0>(du, magnitude, 0x7f800000, 7, hn::Set(du, 7));
  store_words(df, hn::Or(code, hn::And(hn::ShiftRight<28>(word), hn::Set(du, 8))), &out->bits);
}

// The largest magnitude of rows that begin `stride` apart, as bits.
inline int32_t largest_bits(const float* values, int64_t stride, int64_t rows, int64_t count) {
  const hn::ScalableTag<int32_t> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto mask = hn::Set(d, 0x7fffffff);
  auto most = hn::Zero(d);
  int32_t rest = 0;
  for (int64_t row = 0; row < rows; ++row, values += stride) {
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
      most = hn::Max(most, hn::And(hn::BitCast(d, hn::LoadU(hn::RebindToFloat<decltype(d)>(), values + i)), mask));
    }
    for (; i < count; ++i) rest = std::max(rest, static_cast<int32_t>(magnitude_bits(values[i])));
  }
  return std::max(rest, hn::GetLane(hn::MaxOfLanes(d, most)));
}

// The codes of value * factor, or of value / factor if `divides`, to nearest even.
template <class Code>
HWY_INLINE void encode_nearest(const float* values, int64_t count, float factor, bool divides, Code* out) {
  const hn::ScalableTag<float> d;
  const auto largest = hn::Set(d, largest_of(format_of<Code>));
  const auto scale = hn::Set(d, factor);
  const auto infinity = hn::Inf(d);
  // The comparisons are false for NaN, which stays.
  const auto bounded = [&](auto scaled, auto value) HWY_ATTR {
    const auto magnitude = hn::Abs(scaled);
    const auto saturated = hn::IfThenElse(hn::Gt(magnitude, largest), largest, magnitude);
    return hn::CopySign(hn::IfThenElse(hn::Eq(hn::Abs(value), infinity), hn::NaN(d), saturated), value);
  };
  if (divides) {
    for_each_vector(
        d, count, [&](auto value) HWY_ATTR { return bounded(hn::Div(value, scale), value); }, out, values);
  } else {
    for_each_vector(
        d, count, [&](auto value) HWY_ATTR { return bounded(hn::Mul(value, scale), value); }, out, values);
  }
}

// As encode_nearest, up or down by chance: words[i] decides about values[i].
template <class Code>
HWY_INLINE void encode_by_chance(const float* HWY_RESTRICT values, int64_t count, float factor, bool divides,
                                 const uint16_t* HWY_RESTRICT words, Code* HWY_RESTRICT out) {
  for (int64_t i = 0; i < count; ++i) {
    const float scaled = divides ? values[i] / factor : values[i] * factor;
    out[i] = {code_of(format_of<Code>, values[i], scaled, true, words[i])};
  }
}

// Two codes in a byte, the even one in the low half; the high half behind an odd number of codes is 0. The compiler
// makes vectors of the loop.
inline void pack_codes(const UnpackedE2M1* HWY_RESTRICT codes, int64_t count, uint8_t* HWY_RESTRICT out) {
  for (int64_t i = 0; i < count / 2; ++i) {
    out[i] = static_cast<uint8_t>(codes[2 * i].bits | codes[2 * i + 1].bits << 4);
  }
  if (count % 2 != 0) out[count / 2] = codes[count - 1].bits;
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_SCALED_CODES_INL_H
