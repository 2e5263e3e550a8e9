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

// Loads one vector's codes as integers.
template <class Code>
HWY_INLINE hn::Vec<CodeInts> load_codes(const Code* codes) {
  return hn::PromoteTo(CodeInts(), hn::LoadU(hn::Rebind<Code, CodeInts>(), codes));
}

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

// number_of_code
template <class Form>
HWY_INLINE hn::Vec<CodeFloats> numbers_of_codes(hn::Vec<CodeInts> magnitude) {
  const CodeInts di;
  const auto above = hn::ShiftLeft<kCodeShift>(hn::Sub(magnitude, hn::Set(di, Form::kKnee)));
  const auto below = hn::And(above, hn::BroadcastSignBit(above));
  const auto bits = hn::Add(hn::Add(above, below), hn::Set(di, Form::kKneeBits));
  return hn::BitCast(CodeFloats(), hn::IfThenZeroElse(hn::Eq(magnitude, hn::Zero(di)), bits));
}

// coded_number
HWY_INLINE hn::Vec<CodeFloats> coded_numbers(const float* HWY_RESTRICT values, float factor) {
  const CodeFloats df;
  return hn::Min(hn::Mul(hn::Abs(hn::LoadU(df, values)), hn::Set(df, factor)), hn::Set(df, kCodeTop));
}

// code_word
HWY_INLINE hn::Vec<CodeInts> code_words(const uint16_t* HWY_RESTRICT words) {
  return hn::Add(hn::ShiftLeft<kCodeShift - 16>(load_codes(words)), hn::Set(CodeInts(), 8));
}

// code_of_number
template <class Form>
HWY_INLINE hn::Vec<CodeInts> codes_of_numbers(hn::Vec<CodeFloats> number, hn::Vec<CodeInts> word) {
  const CodeInts di;
  const auto bits = hn::Sub(hn::BitCast(di, number), hn::Set(di, Form::kKneeBits));
  const auto halved = hn::IfThenElse(hn::Lt(bits, hn::Zero(di)), hn::ShiftRight<1>(bits), bits);
  return hn::Add(hn::ShiftRight<kCodeShift>(hn::Sub(halved, word)), hn::Set(di, Form::kKnee + 1));
}

HWY_INLINE hn::Vec<CodeFloats> decoded(const int8_t* codes, hn::Vec<CodeFloats> factor) {
  const CodeFloats df;
  const auto code = load_codes(codes);
  const auto sign = hn::And(hn::BitCast(df, code), hn::SignBit(df));
  return hn::Mul(factor, hn::Or(numbers_of_codes<SignedForm>(hn::Abs(code)), sign));
}
HWY_INLINE hn::Vec<CodeFloats> decoded(const uint8_t* codes, hn::Vec<CodeFloats> factor) {
  return hn::Mul(factor, numbers_of_codes<UnsignedForm>(load_codes(codes)));
}

// encode_signed and encode_unsigned; the pointer selects.
HWY_INLINE hn::Vec<CodeInts> encoded(const float* values, float factor, const uint16_t* words, const int8_t*) {
  const CodeFloats df;
  const CodeInts di;
  const auto number = coded_numbers(values, factor);
  const auto word = code_words(words);
  const auto first = hn::Set(df, SignedForm::kFirst);
  const auto share = hn::Mul(hn::ConvertTo(df, word), hn::Set(df, SignedForm::kFirst * 0x1p-20f));
  const auto is_first = hn::And(hn::Ge(number, hn::Set(df, kLeastPart * SignedForm::kFirst)), hn::Le(share, number));
  const auto least = hn::IfThenElseZero(hn::RebindMask(di, is_first), hn::Set(di, 1));
  const auto code =
      hn::IfThenElse(hn::RebindMask(di, hn::Lt(number, first)), least, codes_of_numbers<SignedForm>(number, word));
  const auto sign = hn::BroadcastSignBit(hn::BitCast(di, hn::LoadU(df, values)));
  return hn::Sub(hn::Xor(code, sign), sign);
}
HWY_INLINE hn::Vec<CodeInts> encoded(const float* values, float factor, const uint16_t* words, const uint8_t*) {
  const CodeFloats df;
  const CodeInts di;
  const auto is_above = hn::RebindMask(di, hn::Gt(hn::LoadU(df, values), hn::Zero(df)));
  const auto least = hn::IfThenElseZero(is_above, hn::Set(di, 1));
  return hn::Max(codes_of_numbers<UnsignedForm>(coded_numbers(values, factor), code_words(words)), least);
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
  in_vectors = count / lanes * lanes;
  for (int64_t i = 0; i < in_vectors; i += lanes) hn::StoreU(decoded(codes + i, factor), df, tile + i);
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
