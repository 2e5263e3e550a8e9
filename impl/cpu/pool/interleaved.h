// Rows of a plane as vectors of the compute type whose lanes are one to three elements apart. For kernel files that
// Highway compiles once per instruction set: include after hwy/highway.h. Pure functions, any thread.
#if defined(HALFTONE_CPU_POOL_INTERLEAVED_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_POOL_INTERLEAVED_H
#undef HALFTONE_CPU_POOL_INTERLEAVED_H
#else
#define HALFTONE_CPU_POOL_INTERLEAVED_H
#endif

#include <cstdint>
#include <type_traits>

#include "cpu/simd/vectors.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

// Lane i of vector t is in[kStride * i + t], widened.
template <int kStride, class D>
struct Interleaved {
  static_assert(kStride >= 1 && kStride <= 3);
  VectorOf<D> part[kStride];
};

template <class D>
HWY_INLINE void load_pairs(D d, const hn::TFromD<D>* in, VectorOf<D>& even, VectorOf<D>& odd) {
  hn::LoadInterleaved2(d, in, even, odd);
}

template <class D>
HWY_INLINE void load_pairs(D d, const Float16* in, VectorOf<D>& even, VectorOf<D>& odd) {
  const hn::Rebind<uint16_t, D> d16;
  VectorOf<decltype(d16)> low, high;
  hn::LoadInterleaved2(d16, &in->bits, low, high);
  even = widen_float16(d, low);
  odd = widen_float16(d, high);
}

// The upper half of an FP32 is its BF16, so a pair in a 32-bit lane is split by a shift and a mask.
template <class D>
HWY_INLINE void load_pairs(D d, const BFloat16* in, VectorOf<D>& even, VectorOf<D>& odd) {
  if constexpr (HWY_TARGET == HWY_SCALAR) {
    even = hn::Set(d, static_cast<float>(in[0]));
    odd = hn::Set(d, static_cast<float>(in[1]));
  } else {
    const hn::RebindToUnsigned<D> du;
    const auto pairs = hn::BitCast(du, hn::LoadU(hn::Repartition<uint16_t, D>(), &in->bits));
    even = hn::BitCast(d, hn::ShiftLeft<16>(pairs));
    odd = hn::BitCast(d, hn::And(pairs, hn::Set(du, 0xffff0000)));
  }
}

template <class D>
HWY_INLINE VectorOf<D> widen_words(D d, hn::Vec<hn::Rebind<uint16_t, D>> words, const Float16*) {
  return widen_float16(d, words);
}

template <class D>
HWY_INLINE VectorOf<D> widen_words(D d, hn::Vec<hn::Rebind<uint16_t, D>> words, const BFloat16*) {
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(hn::RebindToUnsigned<D>(), words)));
}

template <class D, class T>
HWY_INLINE void load_triples(D d, const T* in, VectorOf<D> (&part)[3]) {
  if constexpr (std::is_same_v<T, hn::TFromD<D>>) {
    hn::LoadInterleaved3(d, in, part[0], part[1], part[2]);
  } else {
    const hn::Rebind<uint16_t, D> d16;
    VectorOf<decltype(d16)> first, second, third;
    hn::LoadInterleaved3(d16, &in->bits, first, second, third);
    part[0] = widen_words(d, first, in);
    part[1] = widen_words(d, second, in);
    part[2] = widen_words(d, third, in);
  }
}

template <int kStride, class D, class T>
HWY_INLINE Interleaved<kStride, D> load_interleaved(D d, const T* in) {
  Interleaved<kStride, D> vectors;
  if constexpr (kStride == 1) {
    vectors.part[0] = widen(d, in);
  } else if constexpr (kStride == 2) {
    load_pairs(d, in, vectors.part[0], vectors.part[1]);
  } else {
    load_triples(d, in, vectors.part);
  }
  return vectors;
}

// out[2 * i] = lane i of `even`, out[2 * i + 1] = lane i of `odd`. REQUIRES: each lane is a number of out's type.
template <class D>
HWY_INLINE void store_pairs(D d, VectorOf<D> even, VectorOf<D> odd, hn::TFromD<D>* out) {
  hn::StoreInterleaved2(even, odd, d, out);
}

template <class D>
HWY_INLINE void store_pairs(D d, VectorOf<D> even, VectorOf<D> odd, Float16* out) {
  const hn::Rebind<uint16_t, D> d16;
  alignas(64) Float16 low[hn::MaxLanes(D())];
  alignas(64) Float16 high[hn::MaxLanes(D())];
  narrow(d, even, low);
  narrow(d, odd, high);
  hn::StoreInterleaved2(hn::Load(d16, &low->bits), hn::Load(d16, &high->bits), d16, &out->bits);
}

template <class D>
HWY_INLINE void store_pairs(D, VectorOf<D> even, VectorOf<D> odd, BFloat16* out) {
  if constexpr (HWY_TARGET == HWY_SCALAR) {
    out[0] = BFloat16::from(hn::GetLane(even));
    out[1] = BFloat16::from(hn::GetLane(odd));
  } else {
    const hn::RebindToUnsigned<D> du;
    const hn::Repartition<uint16_t, D> d16;
    const auto upper = hn::And(hn::BitCast(du, odd), hn::Set(du, 0xffff0000));
    const auto pairs = hn::Or(hn::ShiftRight<16>(hn::BitCast(du, even)), upper);
    hn::StoreU(hn::BitCast(d16, pairs), d16, &out->bits);
  }
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_POOL_INTERLEAVED_H
