// Vectors of FP32 from and to memory of any format up to FP32, and rows of such vectors. Every instruction set gives
// the bits of core/number/*.h. For kernel files that Highway compiles once per instruction set: include after
// hwy/highway.h.
#if defined(HALFTONE_CPU_SIMD_VECTORS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_SIMD_VECTORS_H
#undef HALFTONE_CPU_SIMD_VECTORS_H
#else
#define HALFTONE_CPU_SIMD_VECTORS_H
#endif

#include <cstring>
#include <type_traits>

#include "core/number/bfloat16.h"
#include "core/number/float16.h"
#include "core/number/float8.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
using VectorOf = hn::Vec<D>;

// Highway's own FP16 conversions are used where they are one instruction; the emulated ones do not round to nearest.
inline constexpr bool kHasFloat16 = (HWY_TARGET & (HWY_SCALAR | HWY_EMU128 | HWY_SSSE3 | HWY_SSE4)) == 0;

// ---- The words of small formats, as the low bits of 32-bit lanes

template <class DF, class Word>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<DF>> load_words(DF, const Word* words) {
  const hn::Rebind<Word, DF> d_word;
  return hn::PromoteTo(hn::RebindToUnsigned<DF>(), hn::LoadU(d_word, words));
}

template <class DF, class Word>
HWY_INLINE void store_words(DF, hn::Vec<hn::RebindToUnsigned<DF>> lanes, Word* words) {
  const hn::Rebind<Word, DF> d_word;
  hn::StoreU(hn::TruncateTo(d_word, lanes), d_word, words);
}

// ---- Widening

// FP16 words to FP32. Emulated: shifted into place an FP16 is an FP32 that is 2^112 too small, subnormals included;
// what had the largest exponent (infinity, NaN) gets FP32's, and NaN turns quiet as in hardware.
template <class DF>
HWY_INLINE VectorOf<DF> widen_float16(DF df, hn::Vec<hn::Rebind<uint16_t, DF>> words) {
  if constexpr (kHasFloat16) {
    return hn::PromoteTo(df, hn::BitCast(hn::Rebind<hwy::float16_t, DF>(), words));
  } else {
    const hn::RebindToUnsigned<DF> du;
    const auto lanes = hn::PromoteTo(du, words);
    const auto sign = hn::ShiftLeft<16>(hn::And(lanes, hn::Set(du, 0x8000)));
    const auto magnitude = hn::ShiftLeft<13>(hn::And(lanes, hn::Set(du, 0x7fff)));
    const auto finite = hn::BitCast(du, hn::Mul(hn::BitCast(df, magnitude), hn::Set(df, 0x1p112f)));
    const auto infinity = hn::Or(magnitude, hn::Set(du, 0x7f800000));
    const auto nan = hn::Or(infinity, hn::Set(du, 0x400000));
    const auto small =
        hn::Lt(hn::BitCast(hn::RebindToSigned<DF>(), magnitude), hn::Set(hn::RebindToSigned<DF>(), 0x7c00 << 13));
    const auto is_infinity = hn::Eq(magnitude, hn::Set(du, 0x7c00u << 13));
    const auto large = hn::IfThenElse(is_infinity, infinity, nan);
    return hn::BitCast(df, hn::Or(sign, hn::IfThenElse(hn::RebindMask(du, small), finite, large)));
  }
}

// Nothing to widen: FP32 as vectors of FP32, double as vectors of double.
template <class D>
HWY_INLINE VectorOf<D> widen(D d, const hn::TFromD<D>* in) {
  return hn::LoadU(d, in);
}

template <class DF>
HWY_INLINE VectorOf<DF> widen(DF df, const BFloat16* in) {
  return hn::BitCast(df, hn::ShiftLeft<16>(load_words(df, &in->bits)));
}

template <class DF>
HWY_INLINE VectorOf<DF> widen(DF df, const Float16* in) {
  return widen_float16(df, hn::LoadU(hn::Rebind<uint16_t, DF>(), &in->bits));
}

// e5m2 is the upper byte of an FP16.
template <class DF>
HWY_INLINE VectorOf<DF> widen(DF df, const Float8E5M2* in) {
  const hn::Rebind<uint16_t, DF> d16;
  const auto bytes = hn::PromoteTo(d16, hn::LoadU(hn::Rebind<uint8_t, DF>(), &in->bits));
  return widen_float16(df, hn::ShiftLeft<8>(bytes));
}

// Shifted into an FP16 an e4m3 is 2^8 too small, subnormals included; its NaN would be 480.
template <class DF>
HWY_INLINE VectorOf<DF> widen(DF df, const Float8E4M3* in) {
  const hn::Rebind<uint16_t, DF> d16;
  const auto bytes = hn::PromoteTo(d16, hn::LoadU(hn::Rebind<uint8_t, DF>(), &in->bits));
  const auto sign = hn::ShiftLeft<8>(hn::And(bytes, hn::Set(d16, 0x80)));
  const auto magnitude = hn::ShiftLeft<7>(hn::And(bytes, hn::Set(d16, 0x7f)));
  const auto value = hn::Mul(widen_float16(df, hn::Or(sign, magnitude)), hn::Set(df, 256.0f));
  const auto quiet_nan = hn::BitCast(df, hn::Set(hn::RebindToUnsigned<DF>(), 0x7fc00000));
  return hn::IfThenElse(hn::Eq(hn::Abs(value), hn::Set(df, 480.0f)), hn::CopySign(quiet_nan, value), value);
}

// ---- Narrowing, round to nearest even

// Rounds FP32 magnitudes onto the grid of a format with `mantissa_bits` and smallest normal exponent `min_exponent`, as
// detail::encode_small_float of core/number/float8.h does. Lanes beyond the format's range hold nonsense.
template <int mantissa_bits, int min_exponent, class DU>
HWY_INLINE VectorOf<DU> encode_magnitude(DU du, VectorOf<DU> magnitude) {
  const hn::RebindToFloat<DU> df;
  const hn::RebindToSigned<DU> di;
  constexpr int shift = 23 - mantissa_bits;
  constexpr uint32_t min_normal = static_cast<uint32_t>(min_exponent + 127) << 23;
  constexpr uint32_t magic = static_cast<uint32_t>(min_exponent - mantissa_bits + 23 + 127) << 23;
  const auto odd = hn::And(hn::ShiftRight<shift>(magnitude), hn::Set(du, 1));
  // The last addend moves the exponent from FP32's bias to the format's.
  const auto rounded = hn::Add(hn::Add(magnitude, odd), hn::Set(du, (1u << (shift - 1)) - 1 + (1u << 23) - min_normal));
  const auto normal = hn::ShiftRight<shift>(rounded);
  const auto shifted = hn::Add(hn::BitCast(df, magnitude), hn::BitCast(df, hn::Set(du, magic)));
  const auto subnormal = hn::Sub(hn::BitCast(du, shifted), hn::Set(du, magic));
  const auto is_tiny = hn::Lt(hn::BitCast(di, magnitude), hn::Set(di, min_normal));
  return hn::IfThenElse(hn::RebindMask(du, is_tiny), subnormal, normal);
}

// `overflow` is the code of every magnitude from the FP32 pattern `limit` up, infinity included.
template <int mantissa_bits, int min_exponent, class DU>
HWY_INLINE VectorOf<DU> encode_small(DU du, VectorOf<DU> magnitude, uint32_t limit, uint32_t overflow,
                                     VectorOf<DU> nan) {
  const hn::RebindToSigned<DU> di;
  const auto signed_magnitude = hn::BitCast(di, magnitude);
  const auto overflows = hn::Gt(signed_magnitude, hn::Set(di, static_cast<int32_t>(limit - 1)));
  const auto is_nan = hn::Gt(signed_magnitude, hn::Set(di, 0x7f800000));
  auto code = encode_magnitude<mantissa_bits, min_exponent>(du, magnitude);
  code = hn::IfThenElse(hn::RebindMask(du, overflows), hn::Set(du, overflow), code);
  return hn::IfThenElse(hn::RebindMask(du, is_nan), nan, code);
}

template <class D>
HWY_INLINE void narrow(D d, VectorOf<D> value, hn::TFromD<D>* out) {
  hn::StoreU(value, d, out);
}

// A lane's upper half is the BF16; the lower means nothing.
template <class DF>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<DF>> round_to_upper_half(DF, VectorOf<DF> value) {
  const hn::RebindToUnsigned<DF> du;
  const auto word = hn::BitCast(du, value);
  const auto odd = hn::And(hn::ShiftRight<16>(word), hn::Set(du, 1));
  const auto rounded = hn::Add(hn::Add(word, odd), hn::Set(du, 0x7fff));
  const auto nan = hn::Or(word, hn::Set(du, 0x400000));
  return hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(value)), nan, rounded);
}

template <class DF>
HWY_INLINE void narrow(DF df, VectorOf<DF> value, BFloat16* out) {
  store_words(df, hn::ShiftRight<16>(round_to_upper_half(df, value)), &out->bits);
}

#if HWY_TARGET != HWY_SCALAR
// Two vectors that follow each other: gathering their upper halves at once takes half the instructions of one by one.
template <class DF>
HWY_INLINE hn::Vec<hn::Repartition<uint16_t, DF>> narrow_pair(DF df, VectorOf<DF> lower, VectorOf<DF> upper) {
  const hn::Repartition<uint16_t, DF> d16;
  return hn::ConcatOdd(d16, hn::BitCast(d16, round_to_upper_half(df, upper)),
                       hn::BitCast(d16, round_to_upper_half(df, lower)));
}
#endif

template <class DF>
HWY_INLINE void narrow(DF df, VectorOf<DF> value, Float16* out) {
  if constexpr (kHasFloat16) {
    const hn::Rebind<hwy::float16_t, DF> d16;
    const hn::Rebind<uint16_t, DF> du16;
    hn::StoreU(hn::BitCast(du16, hn::DemoteTo(d16, value)), du16, &out->bits);
  } else {
    const hn::RebindToUnsigned<DF> du;
    const auto word = hn::BitCast(du, value);
    const auto magnitude = hn::And(word, hn::Set(du, 0x7fffffff));
    const auto payload = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 0x3ff));
    const auto nan = hn::Or(payload, hn::Set(du, 0x7e00));
    const auto code = encode_small<10, -14>(du, magnitude, 0x477ff000, 0x7c00, nan);
    store_words(df, hn::Or(code, hn::And(hn::ShiftRight<16>(word), hn::Set(du, 0x8000))), &out->bits);
  }
}

template <class DF>
HWY_INLINE void narrow(DF df, VectorOf<DF> value, Float8E4M3* out) {
  const hn::RebindToUnsigned<DF> du;
  const auto word = hn::BitCast(du, value);
  const auto magnitude = hn::And(word, hn::Set(du, 0x7fffffff));
  const auto code = encode_small<3, -6>(du, magnitude, 0x43e80001, 0x7e, hn::Set(du, 0x7f));
  store_words(df, hn::Or(code, hn::And(hn::ShiftRight<24>(word), hn::Set(du, 0x80))), &out->bits);
}

template <class DF>
HWY_INLINE void narrow(DF df, VectorOf<DF> value, Float8E5M2* out) {
  const hn::RebindToUnsigned<DF> du;
  const auto word = hn::BitCast(du, value);
  const auto magnitude = hn::And(word, hn::Set(du, 0x7fffffff));
  const auto code = encode_small<2, -14>(du, magnitude, 0x47700000, 0x7c, hn::Set(du, 0x7e));
  store_words(df, hn::Or(code, hn::And(hn::ShiftRight<24>(word), hn::Set(du, 0x80))), &out->bits);
}

// ---- Whole rows

// Memory for one vector, through which the last elements of a row go, so that nothing is touched behind its end.
template <class T, class D>
struct Tail {
  alignas(64) T elements[hn::MaxLanes(D())] = {};
};

// Calls f(vectors of the inputs...) for every vector of `count` elements, the inputs widened, and narrows the result
// into out. Inputs and output may be the same memory.
template <class D, class Out, class F, class... In>
HWY_INLINE void for_each_vector(D d, int64_t count, F&& f, Out* out, const In*... in) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (std::is_same_v<Out, BFloat16>) {
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
      const auto lower = f(widen(d, in + i)...);
      const auto upper = f(widen(d, in + i + lanes)...);
      hn::StoreU(narrow_pair(d, lower, upper), hn::Repartition<uint16_t, D>(), &out[i].bits);
    }
  }
#endif
  for (; i + lanes <= count; i += lanes) narrow(d, f(widen(d, in + i)...), out + i);
  if (i >= count) return;
  const size_t rest = static_cast<size_t>(count - i);
  const auto load_tail = [&](auto* from) HWY_ATTR {
    Tail<std::remove_cv_t<std::remove_pointer_t<decltype(from)>>, D> tail;
    std::memcpy(tail.elements, from, rest * sizeof *from);
    return widen(d, tail.elements);
  };
  Tail<Out, D> result;
  narrow(d, f(load_tail(in + i)...), result.elements);
  std::memcpy(out + i, result.elements, rest * sizeof(Out));
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_SIMD_VECTORS_H
