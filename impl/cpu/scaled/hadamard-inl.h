// hadamard_block of formula/hadamard.h in vectors of four numbers, with the same sums in the same order. For kernel
// files that Highway compiles once per instruction set: include after hwy/highway.h.
#if defined(HALFTONE_CPU_SCALED_HADAMARD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_SCALED_HADAMARD_INL_H
#undef HALFTONE_CPU_SCALED_HADAMARD_INL_H
#else
#define HALFTONE_CPU_SCALED_HADAMARD_INL_H
#endif

#include "backend/formula/hadamard.h"
#include "cpu/simd/vectors.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

class HadamardMap {
 public:
  explicit HadamardMap(uint32_t signs) : signs_(signs) {}
  void apply(const float* in, float* out) const {
    std::copy_n(in, kHadamardSize, out);
    hadamard_block(signs_, out);
  }

 private:
  uint32_t signs_;
};

#else

class HadamardMap {
 public:
  explicit HadamardMap(uint32_t signs) {
    for (int32_t i = 0; i < kHadamardSize; ++i) signs_[i] = (signs >> i & 1) << 31;
  }

  // Maps one block.
  HWY_INLINE void apply(const float* in, float* out) const {
    const Four d;
    auto a = mixed(in, 0), b = mixed(in, 1), c = mixed(in, 2), e = mixed(in, 3);
    add_and_subtract(a, b);
    add_and_subtract(c, e);
    add_and_subtract(a, c);
    add_and_subtract(b, e);
    const auto quarter = hn::Set(d, 0.25f);
    hn::StoreU(hn::Mul(a, quarter), d, out);
    hn::StoreU(hn::Mul(b, quarter), d, out + 4);
    hn::StoreU(hn::Mul(c, quarter), d, out + 8);
    hn::StoreU(hn::Mul(e, quarter), d, out + 12);
  }

 private:
  using Four = hn::FixedTag<float, 4>;
  using Vector = hn::Vec<Four>;

  static HWY_INLINE void add_and_subtract(Vector& a, Vector& b) {
    const Vector sum = hn::Add(a, b);
    b = hn::Sub(a, b);
    a = sum;
  }

  // The four numbers of place `index` with their signs, and the sums among them.
  HWY_INLINE Vector mixed(const float* in, int index) const {
    const Four d;
    const auto signs = hn::BitCast(d, hn::Load(hn::RebindToUnsigned<Four>(), signs_ + 4 * index));
    const Vector v = hn::Xor(hn::LoadU(d, in + 4 * index), signs);
    const Vector neighbours = hn::Shuffle2301(v);
    const Vector pairs = hn::OddEven(hn::Sub(neighbours, v), hn::Add(v, neighbours));
    const Vector halves = hn::Shuffle1032(pairs);
    return hn::ConcatUpperLower(d, hn::Sub(halves, pairs), hn::Add(pairs, halves));
  }

  alignas(16) uint32_t signs_[kHadamardSize];
};

#endif

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_SCALED_HADAMARD_INL_H
