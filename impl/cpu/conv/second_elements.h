// Reads and adds to every second element of a row, for windows that move by two: pairs of vectors are deinterleaved.
// The elements between are read (never after the last element) and stored back unchanged, so only one thread may work
// on a row.
// For kernel files that Highway compiles once per instruction set: include after hwy/highway.h.
#if defined(HALFTONE_CPU_CONV_SECOND_ELEMENTS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_CONV_SECOND_ELEMENTS_H
#undef HALFTONE_CPU_CONV_SECOND_ELEMENTS_H
#else
#define HALFTONE_CPU_CONV_SECOND_ELEMENTS_H
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// out[i] = in[2 * i]. The last vector overlaps the one before it. It starts one element earlier and takes the odd
// elements, because a pair of vectors from 2 * i would read one element after the last.
template <class Word>
void copy_second_elements(const Word* HWY_RESTRICT in, int64_t count, Word* HWY_RESTRICT out) {
  const hn::CappedTag<Word, 16> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> even, odd;
  if (count <= lanes) {
    for (int64_t i = 0; i < count; ++i) out[i] = in[2 * i];
    return;
  }
  int64_t i = 0;
  for (; i + lanes < count; i += lanes) {
    hn::LoadInterleaved2(d, in + 2 * i, even, odd);
    hn::StoreU(even, d, out + i);
  }
  i = count - lanes;
  hn::LoadInterleaved2(d, in + 2 * i - 1, even, odd);
  hn::StoreU(odd, d, out + i);
}

// Adds whole vectors of at most `kLanes` from element i on. Returns the first element it did not add: it stops at least
// one element before the end, because a vector pair also touches the element after each sum.
template <int64_t kLanes, class T>
HWY_INLINE int64_t add_vectors(const T* HWY_RESTRICT in, int64_t i, int64_t count, T* HWY_RESTRICT out) {
  const hn::CappedTag<T, kLanes> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; i + lanes < count; i += lanes) {
    hn::Vec<decltype(d)> even, odd;
    hn::LoadInterleaved2(d, out + 2 * i, even, odd);
    hn::StoreInterleaved2(hn::Add(even, hn::LoadU(d, in + i)), odd, d, out + 2 * i);
  }
  return i;
}

// out[2 * i] += in[i]
template <class T>
void add_to_second_elements(const T* HWY_RESTRICT in, int64_t count, T* HWY_RESTRICT out) {
  int64_t i = add_vectors<16>(in, 0, count, out);
  i = add_vectors<4>(in, i, count, out);
  for (; i < count; ++i) out[2 * i] += in[i];
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_CONV_SECOND_ELEMENTS_H
