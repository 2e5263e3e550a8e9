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

// ---- Decoding. Whole vectors use Highway, because the compiler widens bytes with twice the instructions; the rest of
// a block is a plain loop.

// Loads one vector's codes as FP32.
template <class DF, class Code>
HWY_INLINE hn::Vec<DF> load_codes(DF df, const Code* codes) {
  const hn::Rebind<int32_t, DF> d32;
  return hn::ConvertTo(df, hn::PromoteTo(d32, hn::LoadU(hn::Rebind<Code, DF>(), codes)));
}

HWY_INLINE void decode_tile(const int8_t* HWY_RESTRICT codes, float scale, int64_t count, float* HWY_RESTRICT tile) {
  const hn::ScalableTag<float> df;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(df));
  const auto factor = hn::Set(df, signed_unit(scale));
  const int64_t whole = count / lanes * lanes;
  for (int64_t i = 0; i < whole; i += lanes) {
    const auto c = load_codes(df, codes + i);
    hn::StoreU(hn::Mul(factor, hn::Mul(c, hn::Abs(c))), df, tile + i);
  }
  for (int64_t i = whole; i < count; ++i) tile[i] = decode_signed(codes[i], scale);
}

HWY_INLINE void decode_tile(const uint8_t* HWY_RESTRICT codes, float scale, int64_t count, float* HWY_RESTRICT tile) {
  const hn::ScalableTag<float> df;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(df));
  const auto factor = hn::Set(df, unsigned_unit(scale));
  const int64_t whole = count / lanes * lanes;
  for (int64_t i = 0; i < whole; i += lanes) {
    const auto c = load_codes(df, codes + i);
    const auto square = hn::Mul(c, c);
    hn::StoreU(hn::Mul(factor, hn::Mul(square, square)), df, tile + i);
  }
  for (int64_t i = whole; i < count; ++i) tile[i] = decode_unsigned(codes[i], scale);
}

// ---- Encoding

#if HWY_TARGET <= HWY_AVX2

// 64 elements that go through each step together. The steps of one vector depend on each other, and the compiler would
// place the vectors' steps one after the other, further apart than the CPU looks ahead. It would also not vectorize the
// plain loop for AVX-512.
struct CodeRow {
  static constexpr int64_t kElements = 64;
  static constexpr int kLanes = static_cast<int>(hn::MaxLanes(hn::ScalableTag<float>()));
  static constexpr int kVectors = kElements / kLanes;
  hn::Vec<hn::ScalableTag<float>> v[kVectors];
};

template <class F, class... Rows>
HWY_INLINE CodeRow in_each(F&& step, const Rows&... rows) {
  CodeRow out;
#pragma GCC unroll 8
  for (int i = 0; i < CodeRow::kVectors; ++i) out.v[i] = step(rows.v[i]...);
  return out;
}

#if HWY_TARGET == HWY_AVX2

// Stores integers from 0 to 256 as bytes; 256 saturates to 255.
HWY_INLINE void store_codes(const CodeRow& row, uint8_t* HWY_RESTRICT codes) {
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const auto word_pair = [&](int i) HWY_ATTR {
    return _mm256_packs_epi32(_mm256_cvttps_epi32(row.v[i].raw), _mm256_cvttps_epi32(row.v[i + 1].raw));
  };
  for (int i = 0; i < CodeRow::kVectors; i += 4) {
    const __m256i bytes = _mm256_packus_epi16(word_pair(i), word_pair(i + 2));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes + 8 * i), _mm256_permutevar8x32_epi32(bytes, order));
  }
}

// Stores magnitudes from 0 to 127 as bytes with the signs of `signs`. A magnitude is 0 wherever its sign's bits are 0.
HWY_INLINE void store_codes(const CodeRow& row, const CodeRow& signs, int8_t* HWY_RESTRICT codes) {
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const auto signed_code = [&](int i) HWY_ATTR {
    return _mm256_sign_epi32(_mm256_cvttps_epi32(row.v[i].raw), _mm256_castps_si256(signs.v[i].raw));
  };
  const auto word_pair = [&](int i) HWY_ATTR { return _mm256_packs_epi32(signed_code(i), signed_code(i + 1)); };
  for (int i = 0; i < CodeRow::kVectors; i += 4) {
    const __m256i bytes = _mm256_packs_epi16(word_pair(i), word_pair(i + 2));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes + 8 * i), _mm256_permutevar8x32_epi32(bytes, order));
  }
}

#else

template <class Code>
HWY_INLINE void store_vector(const hn::Vec<hn::ScalableTag<float>>& v, Code* HWY_RESTRICT codes) {
  const hn::ScalableTag<int32_t> d32;
  const hn::Rebind<Code, decltype(d32)> d8;
  hn::StoreU(hn::DemoteTo(d8, hn::ConvertTo(d32, v)), d8, codes);
}

// Stores integers from 0 to 256 as bytes; 256 saturates to 255.
HWY_INLINE void store_codes(const CodeRow& row, uint8_t* HWY_RESTRICT codes) {
#pragma GCC unroll 4
  for (int i = 0; i < CodeRow::kVectors; ++i) store_vector(row.v[i], codes + CodeRow::kLanes * i);
}

// Stores magnitudes from 0 to 127 as bytes with the signs of `signs`.
HWY_INLINE void store_codes(const CodeRow& row, const CodeRow& signs, int8_t* HWY_RESTRICT codes) {
#pragma GCC unroll 4
  for (int i = 0; i < CodeRow::kVectors; ++i) {
    store_vector(hn::CopySign(row.v[i], signs.v[i]), codes + CodeRow::kLanes * i);
  }
}

#endif

// (word + 1/2) / 65536, exactly.
HWY_INLINE CodeRow middles_of(const uint16_t* HWY_RESTRICT words) {
  const hn::ScalableTag<float> df;
  CodeRow middle;
#pragma GCC unroll 8
  for (int i = 0; i < CodeRow::kVectors; ++i) {
    middle.v[i] = hn::MulAdd(load_codes(df, words + CodeRow::kLanes * i), hn::Set(df, 0x1p-16f), hn::Set(df, 0x1p-17f));
  }
  return middle;
}

HWY_INLINE CodeRow load_row(const float* HWY_RESTRICT tile) {
  const hn::ScalableTag<float> df;
  CodeRow row;
#pragma GCC unroll 8
  for (int i = 0; i < CodeRow::kVectors; ++i) row.v[i] = hn::LoadU(df, tile + CodeRow::kLanes * i);
  return row;
}

// encode_signed for a row. Squares and doubles of codes are exact in FP32, so a fused multiply-add gives equal numbers.
HWY_INLINE void encode_row(const float* HWY_RESTRICT tile, float per_unit, const uint16_t* HWY_RESTRICT words,
                           int8_t* HWY_RESTRICT codes) {
  const hn::ScalableTag<float> df;
  using V = hn::Vec<decltype(df)>;
  const V one = hn::Set(df, 1.0f);
  const CodeRow value = load_row(tile);
  const CodeRow power = in_each(
      [&](V v) HWY_ATTR {
        const V p = hn::Min(hn::Mul(hn::Abs(v), hn::Set(df, per_unit)), hn::Set(df, kSignedTop));
        return hn::IfThenElseZero(hn::Ge(p, hn::Set(df, kLeastPower)), p);
      },
      value);
  const CodeRow lower = in_each([&](V p) HWY_ATTR { return hn::Trunc(hn::Sqrt(p)); }, power);
  const CodeRow share = in_each([&](V m, V c) HWY_ATTR { return hn::Mul(m, hn::MulAdd(c, hn::Set(df, 2.0f), one)); },
                                middles_of(words), lower);
  const CodeRow code = in_each(
      [&](V c, V p, V s) HWY_ATTR { return hn::Add(c, hn::IfThenElseZero(hn::Le(s, hn::NegMulAdd(c, c, p)), one)); },
      lower, power, share);
  store_codes(code, value, codes);
}

// encode_unsigned for a row. Two rsqrt estimates (error <= 1.5 / 4096 each, with AVX-512 less) take a tenth of the time
// of square roots; the second estimate halves the error of the first. Scaled by 0.9993 the result is in (root - 1,
// root], so truncated it is the code or the code below; comparing the fourth power decides.
HWY_INLINE void encode_row(const float* HWY_RESTRICT tile, float per_unit, const uint16_t* HWY_RESTRICT words,
                           uint8_t* HWY_RESTRICT codes) {
  const hn::ScalableTag<float> df;
  using V = hn::Vec<decltype(df)>;
  const V one = hn::Set(df, 1.0f);
  const V factor = hn::Set(df, per_unit);
  const auto power_of = [&](V c) HWY_ATTR {
    const V square = hn::Mul(c, c);
    return hn::Mul(square, square);
  };
  const CodeRow value = load_row(tile);
  const CodeRow power = in_each([&](V v) HWY_ATTR { return hn::Mul(v, factor); }, value);
  const CodeRow guess = in_each(
      [&](V p) HWY_ATTR {
        const V root = hn::ApproximateReciprocalSqrt(hn::ApproximateReciprocalSqrt(p));
        return hn::Trunc(hn::Mul(root, hn::Set(df, 0.9993f)));
      },
      power);
  const CodeRow lower = in_each(
      [&](V c, V p) HWY_ATTR {
        const V next = hn::Add(c, one);
        return hn::IfThenElse(hn::Le(power_of(next), p), next, c);
      },
      guess, power);
  const CodeRow below = in_each(power_of, lower);
  const CodeRow step = in_each([&](V c, V b) HWY_ATTR { return hn::Sub(power_of(hn::Add(c, one)), b); }, lower, below);
  const CodeRow share = in_each([&](V m, V s) HWY_ATTR { return hn::Mul(m, s); }, middles_of(words), step);
  const CodeRow code = in_each(
      [&](V c, V p, V b, V s, V v) HWY_ATTR {
        const V up = hn::IfThenElseZero(hn::Le(s, hn::Sub(p, b)), one);
        const V least = hn::IfThenElseZero(hn::Gt(v, hn::Zero(df)), one);
        return hn::Max(hn::Add(c, up), least);
      },
      lower, power, below, share, value);
  store_codes(code, codes);
}

#endif

HWY_INLINE void encode_tile(const float* HWY_RESTRICT tile, float scale, int64_t count,
                            const uint16_t* HWY_RESTRICT words, int8_t* HWY_RESTRICT codes) {
  int64_t in_rows = 0;
#if HWY_TARGET <= HWY_AVX2
  in_rows = count / CodeRow::kElements * CodeRow::kElements;
  for (int64_t i = 0; i < in_rows; i += CodeRow::kElements) {
    encode_row(tile + i, kSignedTop / scale, words + i, codes + i);
  }
#endif
  for (int64_t i = in_rows; i < count; ++i) codes[i] = encode_signed(tile[i], scale, words[i]);
}

HWY_INLINE void encode_tile(const float* HWY_RESTRICT tile, float scale, int64_t count,
                            const uint16_t* HWY_RESTRICT words, uint8_t* HWY_RESTRICT codes) {
  int64_t in_rows = 0;
#if HWY_TARGET <= HWY_AVX2
  in_rows = count / CodeRow::kElements * CodeRow::kElements;
  for (int64_t i = 0; i < in_rows; i += CodeRow::kElements) {
    encode_row(tile + i, kUnsignedTop / scale, words + i, codes + i);
  }
#endif
  for (int64_t i = in_rows; i < count; ++i) codes[i] = encode_unsigned(tile[i], scale, words[i]);
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_OPTIM_MOMENT_CODES_H
