// A pair of elements of k in one 32-bit word, as dot products read them. Included once per instruction set by
// pack-inl.h.
#if defined(HALFTONE_GEMM_PAIR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_GEMM_PAIR_INL_H_
#undef HALFTONE_GEMM_PAIR_INL_H_
#else
#define HALFTONE_GEMM_PAIR_INL_H_
#endif

#include <bit>
#include <cstdint>
#include <type_traits>

#include "core/number/bfloat16.h"
#include "cpu/gemm/microkernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu {
namespace HWY_NAMESPACE {

// Converts to a float with the pair's bits, never used in arithmetic: this way code that moves FP32 can move pairs.
struct BFloat16Pair {
  BFloat16 first;
  BFloat16 second;

  explicit operator float() const { return std::bit_cast<float>(uint32_t{first.bits} | uint32_t{second.bits} << 16); }
};

HWY_INLINE FloatVector widen(FloatTag d, const BFloat16Pair* in) {
  return hn::LoadU(d, reinterpret_cast<const float*>(in));
}

// The memory element of a packed word T: for a pair, one BF16.
template <class T>
using ElementOf = std::conditional_t<std::is_same_v<T, BFloat16Pair>, BFloat16, T>;

}  // namespace HWY_NAMESPACE
}  // namespace halftone::cpu
HWY_AFTER_NAMESPACE();

#endif
