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

// A format's bits.
template <class Code>
struct CodeBits {
  static constexpr int kMantissa = 1, kMinExponent = 0, kSignShift = 28;
  static constexpr uint32_t kNan = 7, kSign = 8;
};
template <>
struct CodeBits<Float8E4M3> {
  static constexpr int kMantissa = 3, kMinExponent = -6, kSignShift = 24;
  static constexpr uint32_t kNan = 0x7f, kSign = 0x80;
};
template <>
struct CodeBits<Float8E5M2> {
  static constexpr int kMantissa = 2, kMinExponent = -14, kSignShift = 24;
  static constexpr uint32_t kNan = 0x7e, kSign = 0x80;
};

// round_small_float of formula/scaling.h. REQUIRES: magnitudes that are codes' at most; words below 65,536.
template <int mantissa_bits, int min_exponent, class DF, class Words>
HWY_INLINE Words round_by_chance(DF df, VectorOf<DF> magnitude, Words words) {
  const hn::RebindToUnsigned<DF> du;
  const hn::RebindToSigned<DF> di;
  constexpr int shift = 23 - mantissa_bits;
  constexpr uint32_t min_normal = static_cast<uint32_t>(min_exponent + 127) << 23;
  constexpr uint32_t steps = static_cast<uint32_t>(127 + mantissa_bits - min_exponent) << 23;
  const auto bits = hn::BitCast(du, magnitude);
  const auto share = hn::ShiftLeft<shift - 17>(hn::Add(hn::Add(words, words), hn::Set(du, 1)));
  const auto normal = hn::ShiftRight<shift>(hn::Add(hn::Add(bits, share), hn::Set(du, (1u << 23) - min_normal)));
  const auto is_small = hn::Lt(hn::BitCast(di, bits), hn::Set(di, static_cast<int32_t>(min_normal)));
  const auto small =
      hn::Mul(hn::IfThenElseZero(hn::RebindMask(df, is_small), magnitude), hn::BitCast(df, hn::Set(du, steps)));
  const auto floor = hn::ConvertTo(di, small);
  const auto rest = hn::Sub(small, hn::ConvertTo(df, floor));
  const auto least =
      hn::Mul(hn::Sub(hn::Set(df, 65535.5f), hn::ConvertTo(df, hn::BitCast(di, words))), hn::Set(df, 0x1p-16f));
  const auto is_up = hn::Ge(rest, least);
  const auto up = hn::IfThenElseZero(hn::RebindMask(di, is_up), hn::Set(di, 1));
  return hn::IfThenElse(hn::RebindMask(du, is_small), hn::BitCast(du, hn::Add(floor, up)), normal);
}

// Rounding of magnitudes that are the format's at most, in FP32, to codes without sign: to nearest even, or up or down
// by chance with one word for each value. The number is the place of a value in its row.
struct ToNearest {
  static constexpr bool kIsByChance = false;

  template <class Bits, class DF>
  HWY_INLINE hn::Vec<hn::RebindToUnsigned<DF>> round(DF, VectorOf<DF> magnitude, int64_t) const {
    const hn::RebindToUnsigned<DF> du;
    return encode_magnitude<Bits::kMantissa, Bits::kMinExponent>(du, hn::BitCast(du, magnitude));
  }
  uint16_t word(int64_t) const { return 0; }
};
struct ByChance {
  static constexpr bool kIsByChance = true;
  const uint16_t* words;

  template <class Bits, class DF>
  HWY_INLINE hn::Vec<hn::RebindToUnsigned<DF>> round(DF df, VectorOf<DF> magnitude, int64_t i) const {
    return round_by_chance<Bits::kMantissa, Bits::kMinExponent>(df, magnitude, load_words(df, words + i));
  }
  uint16_t word(int64_t i) const { return words[i]; }
};

// As code_of of formula/scaling.h. Magnitudes are compared as integers, so NaN becomes the largest number first and
// then its code.
template <class Code, class DF, class Rounding>
HWY_INLINE void store_codes(DF df, VectorOf<DF> value, VectorOf<DF> scaled, const Rounding& rounding, int64_t i,
                            Code* out) {
  using Bits = CodeBits<Code>;
  const hn::RebindToUnsigned<DF> du;
  const hn::RebindToSigned<DF> di;
  const auto infinity = hn::Set(di, 0x7f800000);
  const auto magnitude = hn::BitCast(di, hn::Abs(scaled));
  const auto bounded = hn::Min(magnitude, hn::BitCast(di, hn::Set(df, largest_of(format_of<Code>))));
  const auto code = rounding.template round<Bits>(df, hn::BitCast(df, bounded), i);
  const auto is_nan = hn::Or(hn::Gt(magnitude, infinity), hn::Eq(hn::BitCast(di, hn::Abs(value)), infinity));
  // The sign is that of the value: where infinity met a factor of 0, the sign of the product depends on the machine.
  const auto sign = hn::And(hn::ShiftRight<Bits::kSignShift>(hn::BitCast(du, value)), hn::Set(du, Bits::kSign));
  store_words(df, hn::Or(hn::IfThenElse(hn::RebindMask(du, is_nan), hn::Set(du, Bits::kNan), code), sign), &out->bits);
}

// The codes of values [begin, end) of a row under one scale, whose factor multiplies or divides them.
template <bool divides, class Code, class Rounding>
HWY_INLINE void encode_under(const float* values, int64_t begin, int64_t end, float factor, const Rounding& rounding,
                             Code* out) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto factors = hn::Set(d, factor);
  int64_t i = begin;
  for (; i + lanes <= end; i += lanes) {
    const auto value = hn::LoadU(d, values + i);
    store_codes(d, value, divides ? hn::Div(value, factors) : hn::Mul(value, factors), rounding, i, out + i);
  }
  for (; i < end; ++i) {
    const float scaled = divides ? values[i] / factor : values[i] * factor;
    out[i] = {code_of(format_of<Code>, values[i], scaled, Rounding::kIsByChance, rounding.word(i))};
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
