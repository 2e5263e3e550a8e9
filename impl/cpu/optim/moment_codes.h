// Converts tiles of FP32 to 8-bit codes and back, as defined in formula/block_code.h. For kernel files that Highway
// compiles once per instruction set: include after hwy/highway.h.
#if defined(HALFTONE_CPU_OPTIM_MOMENT_CODES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_OPTIM_MOMENT_CODES_H
#undef HALFTONE_CPU_OPTIM_MOMENT_CODES_H
#else
#define HALFTONE_CPU_OPTIM_MOMENT_CODES_H
#endif

#include <bit>
#include <cstdint>
#include <type_traits>

#include "backend/formula/block_code.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE float scale_of(const float* HWY_RESTRICT tile, int64_t count) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t magnitude = std::bit_cast<uint32_t>(tile[i]) & 0x7fffffff;
    largest = magnitude > largest ? magnitude : largest;
  }
  return block_scale(largest);
}

// ---- Whole rows of four vectors use Highway, the rest of a block is a plain loop. Both round the same products, so
// all instruction sets give equal bits.

#if HWY_TARGET != HWY_SCALAR

using CodeFloats = hn::ScalableTag<float>;
using CodeInts = hn::RebindToSigned<CodeFloats>;
using CodeShorts = hn::Repartition<int16_t, CodeFloats>;

// Stores four vectors of integers as bytes. The packs of AVX2 leave groups of four bytes out of order.
template <class Code>
HWY_INLINE void store_codes(const hn::Vec<CodeInts> (&v)[4], Code* HWY_RESTRICT codes) {
#if HWY_TARGET == HWY_AVX2
  const __m256i low = _mm256_packs_epi32(v[0].raw, v[1].raw), high = _mm256_packs_epi32(v[2].raw, v[3].raw);
  const __m256i bytes = std::is_signed_v<Code> ? _mm256_packs_epi16(low, high) : _mm256_packus_epi16(low, high);
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes), _mm256_permutevar8x32_epi32(bytes, order));
#else
  const hn::Rebind<Code, CodeInts> d8;
  for (size_t k = 0; k < 4; ++k) hn::StoreU(hn::DemoteTo(d8, v[k]), d8, codes + k * hn::Lanes(CodeInts()));
#endif
}

// The upper 16 bits of number_of_code; the lower ones are 0.
template <class Form>
HWY_INLINE hn::Vec<CodeShorts> bits_of_codes(hn::Vec<CodeShorts> magnitude) {
  using Lines = CodeLines<Form>;
  const CodeShorts d;
  const auto high = hn::Add(hn::ShiftLeft<Form::kHighShift - 16>(magnitude), hn::Set(d, Lines::kHigh >> 16));
  const auto middle = hn::Add(hn::ShiftLeft<Form::kMiddleShift - 16>(magnitude), hn::Set(d, Lines::kMiddle >> 16));
  const auto low = hn::Add(hn::ShiftLeft<Form::kLowShift - 16>(magnitude), hn::Set(d, Lines::kLow >> 16));
  const auto bits = hn::Min(high, hn::Min(middle, low));
  return hn::IfThenZeroElse(hn::Eq(magnitude, hn::Zero(d)), bits);
}

// The upper bits of decode_signed and decode_unsigned, for a scale of kCodeTop.
HWY_INLINE hn::Vec<CodeShorts> decoded_bits(const int8_t* codes) {
  const CodeShorts d;
  const auto code = hn::PromoteTo(d, hn::LoadU(hn::Rebind<int8_t, CodeShorts>(), codes));
  const auto sign = hn::And(code, hn::Set(d, INT16_MIN));
  return hn::Or(bits_of_codes<SignedForm>(hn::Abs(code)), sign);
}
HWY_INLINE hn::Vec<CodeShorts> decoded_bits(const uint8_t* codes) {
  return bits_of_codes<UnsignedForm>(hn::PromoteTo(CodeShorts(), hn::LoadU(hn::Rebind<uint8_t, CodeShorts>(), codes)));
}

HWY_INLINE hn::Vec<CodeFloats> floats_of(hn::Vec<hn::Half<CodeShorts>> upper_bits) {
  return hn::BitCast(CodeFloats(), hn::ShiftLeft<16>(hn::PromoteTo(CodeInts(), upper_bits)));
}

// place_of_number
template <class Form>
HWY_INLINE hn::Vec<CodeInts> places_of_numbers(hn::Vec<CodeFloats> number) {
  using Lines = CodeLines<Form>;
  const CodeInts di;
  const auto high = hn::BitCast(di, number);
  const auto middle = hn::Add(hn::ShiftRight<Lines::kMiddleToHigh>(high), hn::Set(di, Lines::kFromMiddle));
  const auto low = hn::Add(hn::ShiftRight<Lines::kLowToHigh>(high), hn::Set(di, Lines::kFromLow));
  return hn::Max(high, hn::Max(middle, low));
}

// code_of_place
template <class Form>
HWY_INLINE hn::Vec<CodeInts> codes_of_places(hn::Vec<CodeInts> place, const uint16_t* HWY_RESTRICT words) {
  const CodeInts di;
  const auto word = hn::PromoteTo(di, hn::LoadU(hn::Rebind<uint16_t, CodeInts>(), words));
  const auto down = hn::ShiftLeft<Form::kHighShift - 16>(word);
  return hn::ShiftRight<Form::kHighShift>(hn::Sub(hn::Add(place, hn::Set(di, kRoundUp<Form>)), down));
}

// encode_signed and encode_unsigned; the pointer selects.
HWY_INLINE hn::Vec<CodeInts> encoded(const float* values, float factor, const uint16_t* words, const int8_t*) {
  const CodeFloats df;
  const CodeInts di;
  const auto value = hn::LoadU(df, values);
  const auto number = hn::Mul(hn::Abs(value), hn::Set(df, factor));
  const auto first = hn::Set(df, SignedForm::kFirst), least = hn::Set(df, kLeastPart * SignedForm::kFirst);
  const auto part = hn::Min(hn::IfThenElseZero(hn::Ge(number, least), number), first);
  const auto below = hn::BitCast(di, hn::Add(hn::Set(df, kZeroPlace), hn::Mul(part, hn::Set(df, kPartToPlace))));
  const auto place = hn::Max(places_of_numbers<SignedForm>(number), below);
  const auto code = codes_of_places<SignedForm>(place, words);
  const auto sign = hn::BroadcastSignBit(hn::BitCast(di, value));
  return hn::Sub(hn::Xor(code, sign), sign);
}
HWY_INLINE hn::Vec<CodeInts> encoded(const float* values, float factor, const uint16_t* words, const uint8_t*) {
  const CodeFloats df;
  const CodeInts di;
  const auto value = hn::LoadU(df, values);
  const auto number = hn::Mul(hn::Abs(value), hn::Set(df, factor));
  const auto is_above = hn::RebindMask(di, hn::Gt(value, hn::Zero(df)));
  const auto least = hn::IfThenElseZero(is_above, hn::Set(di, 1));
  return hn::Max(codes_of_places<UnsignedForm>(places_of_numbers<UnsignedForm>(number), words), least);
}

#endif

HWY_INLINE float decode_code(int8_t code, float scale) { return decode_signed(code, scale); }
HWY_INLINE float decode_code(uint8_t code, float scale) { return decode_unsigned(code, scale); }
HWY_INLINE void encode_code(float value, float scale, uint16_t word, int8_t& code) {
  code = encode_signed(value, scale, word);
}
HWY_INLINE void encode_code(float value, float scale, uint16_t word, uint8_t& code) {
  code = encode_unsigned(value, scale, word);
}

template <class Code>
HWY_INLINE void decode_tile(const Code* HWY_RESTRICT codes, float scale, int64_t count, float* HWY_RESTRICT tile) {
  int64_t in_vectors = 0;
#if HWY_TARGET != HWY_SCALAR
  const CodeFloats df;
  const auto lanes = static_cast<int64_t>(hn::Lanes(df));
  const auto factor = hn::Set(df, from_code(scale));
  const hn::Half<CodeShorts> half;
  in_vectors = count / (2 * lanes) * (2 * lanes);
  for (int64_t i = 0; i < in_vectors; i += 2 * lanes) {
    const auto bits = decoded_bits(codes + i);
    hn::StoreU(hn::Mul(factor, floats_of(hn::LowerHalf(half, bits))), df, tile + i);
    hn::StoreU(hn::Mul(factor, floats_of(hn::UpperHalf(half, bits))), df, tile + i + lanes);
  }
#endif
  for (int64_t i = in_vectors; i < count; ++i) tile[i] = decode_code(codes[i], scale);
}

template <class Code>
HWY_INLINE void encode_tile(const float* HWY_RESTRICT tile, float scale, int64_t count,
                            const uint16_t* HWY_RESTRICT words, Code* HWY_RESTRICT codes) {
  int64_t in_rows = 0;
#if HWY_TARGET != HWY_SCALAR
  const auto lanes = static_cast<int64_t>(hn::Lanes(CodeFloats()));
  const float factor = to_code(scale);
  in_rows = count / (4 * lanes) * (4 * lanes);
  for (int64_t i = 0; i < in_rows; i += 4 * lanes) {
    hn::Vec<CodeInts> v[4];
    for (int k = 0; k < 4; ++k) v[k] = encoded(tile + i + k * lanes, factor, words + i + k * lanes, codes);
    store_codes(v, codes + i);
  }
#endif
  for (int64_t i = in_rows; i < count; ++i) encode_code(tile[i], scale, words[i], codes[i]);
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_OPTIM_MOMENT_CODES_H
