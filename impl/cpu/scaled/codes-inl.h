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

// out = values * factor, or values / factor if `divides`. The compiler makes vectors of the loops.
inline void apply_factor(const float* HWY_RESTRICT values, int64_t count, float factor, bool divides,
                         float* HWY_RESTRICT out) {
  if (divides) {
    for (int64_t i = 0; i < count; ++i) out[i] = values[i] / factor;
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = values[i] * factor;
  }
}

// The codes of values whose scales were applied in `scaled`, to nearest even. The sign is that of the value: where
// infinity met a factor of 0, the sign of the product depends on the machine.
template <class Code>
HWY_INLINE void encode_nearest(const float* values, const float* scaled, int64_t count, Code* out) {
  const hn::ScalableTag<float> d;
  const auto largest = hn::Set(d, largest_of(format_of<Code>));
  const auto infinity = hn::Inf(d);
  // The comparisons are false for NaN, which stays.
  const auto bounded = [&](auto value, auto number) HWY_ATTR {
    const auto magnitude = hn::Abs(number);
    const auto saturated = hn::IfThenElse(hn::Gt(magnitude, largest), largest, magnitude);
    return hn::CopySign(hn::IfThenElse(hn::Eq(hn::Abs(value), infinity), hn::NaN(d), saturated), value);
  };
  for_each_vector(d, count, bounded, out, values, scaled);
}

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

template <class Code, class DF>
HWY_INLINE void store_by_chance(DF df, VectorOf<DF> value, VectorOf<DF> scaled, const uint16_t* words, Code* out) {
  using Bits = CodeBits<Code>;
  const hn::RebindToUnsigned<DF> du;
  const auto largest = hn::Set(df, largest_of(format_of<Code>));
  const auto magnitude = hn::Abs(scaled);
  const auto bounded = hn::IfThenElse(hn::Gt(magnitude, largest), largest, magnitude);
  const auto code = round_by_chance<Bits::kMantissa, Bits::kMinExponent>(df, bounded, load_words(df, words));
  const auto sign = hn::And(hn::ShiftRight<Bits::kSignShift>(hn::BitCast(du, value)), hn::Set(du, Bits::kSign));
  const auto is_nan = hn::RebindMask(du, hn::Or(hn::IsNaN(scaled), hn::IsInf(value)));
  store_words(df, hn::Or(hn::IfThenElse(is_nan, hn::Set(du, Bits::kNan), code), sign), &out->bits);
}

// As encode_nearest, up or down by chance: words[i] decides about values[i].
template <class Code>
HWY_INLINE void encode_by_chance(const float* values, const float* scaled, int64_t count, const uint16_t* words,
                                 Code* out) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    store_by_chance(d, hn::LoadU(d, values + i), hn::LoadU(d, scaled + i), words + i, out + i);
  }
  for (; i < count; ++i) out[i] = {code_of(format_of<Code>, values[i], scaled[i], true, words[i])};
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
