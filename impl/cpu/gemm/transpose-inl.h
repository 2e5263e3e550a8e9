// Transposes and widens in one pass: rows of a matrix become the lanes of vectors. Included once per instruction set by
// pack-inl.h; pure functions, any thread.
#if defined(HALFTONE_GEMM_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_GEMM_TRANSPOSE_INL_H_
#undef HALFTONE_GEMM_TRANSPOSE_INL_H_
#else
#define HALFTONE_GEMM_TRANSPOSE_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include "cpu/gemm/microkernel-inl.h"
#include "cpu/gemm/pair-inl.h"
#include "cpu/simd/vectors.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

using WordTag = hn::RebindToUnsigned<FloatTag>;
using WordVector = hn::Vec<WordTag>;

// Row elements per 32-bit word; 16-bit formats are transposed in pairs, at half the cost of FP32.
template <class T>
constexpr int kPerWord = static_cast<int>(4 / sizeof(T));

// Block b of the result holds four words of row 4 b, from element `from` on: rows[0], rows[4], rows[8], ...
template <class D, class T>
HWY_INLINE hn::Vec<D> load_every_fourth_row(D d, const T* const* rows, int64_t from) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::BitCast(d, hn::LoadU(hn::Repartition<uint8_t, D>(), reinterpret_cast<const uint8_t*>(rows[0] + from)));
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_every_fourth_row(half, rows + hn::MaxLanes(half), from),
                       load_every_fourth_row(half, rows, from));
  }
}

HWY_INLINE void store_widened(FloatTag d, WordVector words, const float*, int64_t, float* out) {
  hn::StoreU(hn::BitCast(d, words), d, out);
}

HWY_INLINE void store_widened(FloatTag d, WordVector words, const BFloat16Pair*, int64_t, float* out) {
  hn::StoreU(hn::BitCast(d, words), d, out);
}

// Little endian: the first element of a pair is the lower half.
HWY_INLINE void store_widened(FloatTag d, WordVector words, const BFloat16*, int64_t stride, float* out) {
  hn::StoreU(hn::BitCast(d, hn::ShiftLeft<16>(words)), d, out);
  hn::StoreU(hn::BitCast(d, hn::And(words, hn::Set(WordTag(), 0xffff0000))), d, out + stride);
}

HWY_INLINE void store_widened(FloatTag d, WordVector words, const Float16*, int64_t stride, float* out) {
  const hn::Rebind<uint16_t, FloatTag> d_half;
  hn::StoreU(widen_float16(d, hn::TruncateTo(d_half, words)), d, out);
  hn::StoreU(widen_float16(d, hn::TruncateTo(d_half, hn::ShiftRight<16>(words))), d, out + stride);
}

// out[p * stride + r] = rows[r][from + p], for kLanes rows and the elements p of four words.
template <class T>
HWY_INLINE void transpose_words(const T* const* rows, int64_t from, int64_t stride, float* out) {
  const WordTag d;
  const WordVector row0 = load_every_fourth_row(d, rows, from);
  const WordVector row1 = load_every_fourth_row(d, rows + 1, from);
  const WordVector row2 = load_every_fourth_row(d, rows + 2, from);
  const WordVector row3 = load_every_fourth_row(d, rows + 3, from);
  const WordVector low02 = hn::InterleaveLower(d, row0, row2);
  const WordVector low13 = hn::InterleaveLower(d, row1, row3);
  const WordVector high02 = hn::InterleaveUpper(d, row0, row2);
  const WordVector high13 = hn::InterleaveUpper(d, row1, row3);
  const FloatTag d_float;
  const int64_t step = kPerWord<T> * stride;
  store_widened(d_float, hn::InterleaveLower(d, low02, low13), rows[0], stride, out);
  store_widened(d_float, hn::InterleaveUpper(d, low02, low13), rows[0], stride, out + step);
  store_widened(d_float, hn::InterleaveLower(d, high02, high13), rows[0], stride, out + 2 * step);
  store_widened(d_float, hn::InterleaveUpper(d, high02, high13), rows[0], stride, out + 3 * step);
}

// out[p * stride + r] = rows[r][p] for kLanes rows and p below depth.
template <class T>
void transpose_rows(const T* const* rows, int64_t depth, int64_t stride, float* out) {
  constexpr int64_t kStep = 4 * kPerWord<T>;
  int64_t p = 0;
  for (; p + kStep <= depth; p += kStep) transpose_words(rows, p, stride, out + p * stride);
  for (; p < depth; ++p) {
    for (int r = 0; r < kLanes; ++r) out[p * stride + r] = static_cast<float>(rows[r][p]);
  }
}

#else

template <class T>
void transpose_rows(const T* const* rows, int64_t depth, int64_t stride, float* out) {
  for (int64_t p = 0; p < depth; ++p) out[p * stride] = static_cast<float>(rows[0][p]);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace halftone::cpu
HWY_AFTER_NAMESPACE();

#endif
