// Packing: copies a block of an operand, of any dtype and strides, as FP32 or pairs of BF16 in the order in which the
// microkernel reads it. Included once per instruction set by gemm.cpp; pure functions, any thread.
#if defined(HALFTONE_GEMM_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_GEMM_PACK_INL_H_
#undef HALFTONE_GEMM_PACK_INL_H_
#else
#define HALFTONE_GEMM_PACK_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/type_list.h"
#include "cpu/gemm/microkernel-inl.h"
#include "cpu/gemm/pair-inl.h"
#include "cpu/gemm/plan.h"
#include "cpu/gemm/transpose-inl.h"
#include "cpu/simd/vectors.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu {
namespace HWY_NAMESPACE {

// Memory is prefetched this many rows ahead of the row being read.
constexpr int64_t kPrefetchRows = 8;

using OperandTypes = TypeList<float, Float16, BFloat16>;

// A block of an operand: lines [first, first + lines) of all `total` rows of a or columns of b, each `depth` elements
// along k. `data` is the beginning of line 0. A packed line is a row of 32-bit words, each one T; an incomplete last
// pair is filled with zero.
template <class T>
struct Block {
  static constexpr int64_t kElements = sizeof(T) / sizeof(ElementOf<T>);

  const ElementOf<T>* data;
  int64_t first;
  int64_t lines;
  int64_t total;
  int64_t depth;
  int64_t line_stride;
  int64_t depth_stride;

  int64_t words() const { return ceil_div(depth, kElements); }
  int64_t whole_words() const { return depth / kElements; }

  // Line i in memory. REQUIRES: depth_stride is 1.
  const T* line(int64_t i) const { return reinterpret_cast<const T*>(data + (first + i) * line_stride); }

  float word(int64_t i, int64_t p) const {
    const ElementOf<T>* from = data + (first + i) * line_stride + p * kElements * depth_stride;
    if constexpr (kElements == 1) {
      return static_cast<float>(*from);
    } else {
      return static_cast<float>(T{from[0], p < whole_words() ? from[depth_stride] : ElementOf<T>{0}});
    }
  }
};

// Row-major a: rows stay rows, padded_depth(words) apart.
template <class T>
void pack_rows(const Block<T>& block, float* out) {
  const FloatTag d;
  const int64_t stride = padded_depth(block.words());
  const int64_t whole_words = block.depth_stride == 1 ? block.whole_words() : 0;
  const auto keep = [](FloatVector value) HWY_ATTR { return value; };
  for (int64_t i = 0; i < block.lines; ++i) {
    float* to = out + i * stride;
    if (whole_words > 0) for_each_vector(d, whole_words, keep, to, block.line(i));
    for (int64_t p = whole_words; p < block.words(); ++p) to[p] = block.word(i, p);
  }
}

// Widens elements [line, line + kLanes) of `total` contiguous ones. Near the end it reads the last kLanes elements and
// shifts them down, so that nothing after the end is read; the upper lanes then hold values that are not used.
template <class T>
HWY_INLINE FloatVector widen_lines(FloatTag d, const T* in, int64_t line, int64_t total) {
  if (line + kLanes <= total) return widen(d, in + line);
  if (total < kLanes) {
    Tail<T, FloatTag> tail;
    std::memcpy(tail.elements, in + line, static_cast<size_t>(total - line) * sizeof(T));
    return widen(d, tail.elements);
  }
  const hn::RebindToSigned<FloatTag> d_index;
  const auto index = hn::Iota(d_index, static_cast<int32_t>(line + kLanes - total));
  const auto lanes = hn::IndicesFromVec(d, hn::Min(index, hn::Set(d_index, kLanes - 1)));
  return hn::TableLookupLanes(widen(d, in + total - kLanes), lanes);
}

// Word p of the kLanes lines from `line` on. REQUIRES: line_stride is 1.
template <class T>
HWY_INLINE FloatVector load_words_of_lines(FloatTag d, const Block<T>& block, int64_t line, int64_t p) {
  const ElementOf<T>* from = block.data + p * block.kElements * block.depth_stride;
  const FloatVector first = widen_lines(d, from, line, block.total);
  if constexpr (Block<T>::kElements == 1) {
    return first;
  } else {
    const hn::RebindToUnsigned<FloatTag> d_word;
    const auto low = hn::ShiftRight<16>(hn::BitCast(d_word, first));
    if (p >= block.whole_words()) return hn::BitCast(d, low);
    const auto high = hn::BitCast(d_word, widen_lines(d, from + block.depth_stride, line, block.total));
    return hn::BitCast(d, hn::Or(low, high));
  }
}

// Adjacent lines (line_stride 1) become panels of kWidth lines. A panel's row holds word p of all its lines, in whole
// vectors; lanes after the panel's width may hold any value. All panels advance together, so that memory is read in
// order.
template <int kWidth, class T>
void interleave_panels(const Block<T>& block, int64_t panel_stride, float* out) {
  constexpr int64_t kRow = (kWidth + kLanes - 1) / kLanes * kLanes;
  const FloatTag d;
  const int64_t end = block.first + block.lines;
  for (int64_t p = 0; p < block.words(); ++p) {
    const int64_t row_ahead = std::min((p + kPrefetchRows) * block.kElements, block.depth - block.kElements);
    const ElementOf<T>* ahead = block.data + std::max<int64_t>(row_ahead, 0) * block.depth_stride;
    float* to = out + p * kRow;
    for (int64_t line = block.first; line < end; line += kWidth, to += panel_stride) {
      for (int64_t v = 0; v < kRow && line + v < end; v += kLanes) {
        for (int64_t e = 0; e < block.kElements; ++e) hwy::Prefetch(ahead + e * block.depth_stride + line + v);
        hn::StoreU(load_words_of_lines(d, block, line + v, p), d, to + v);
      }
    }
  }
}

// Contiguous lines (depth_stride 1) are transposed into panels of kTileColumns lines. If the last vector is not full it
// repeats the last line; the microkernel's results for the repeats are not used.
template <class T>
void transpose_panels(const Block<T>& block, int64_t panel_stride, float* out) {
  for (int64_t first = 0; first < block.lines; first += kLanes) {
    const T* lines[kLanes];
    for (int64_t r = 0; r < kLanes; ++r) {
      lines[r] = block.line(std::min(first + r, block.lines - 1));
    }
    float* panel = out + first / kTileColumns * panel_stride + first % kTileColumns;
    transpose_rows(lines, block.whole_words(), kTileColumns, panel);
    for (int64_t p = block.whole_words(); p < block.words(); ++p) {
      for (int64_t r = 0; r < kLanes; ++r) {
        panel[p * kTileColumns + r] = block.word(std::min(first + r, block.lines - 1), p);
      }
    }
  }
}

// For any strides. If the last vector is not full it repeats the last line.
template <class T>
void gather_panels(const Block<T>& block, int64_t panel_stride, float* out) {
  for (int64_t line = 0; line < round_up(block.lines, kLanes); ++line) {
    float* to = out + line / kTileColumns * panel_stride + line % kTileColumns;
    const int64_t from = std::min(line, block.lines - 1);
    for (int64_t p = 0; p < block.words(); ++p) to[p * kTileColumns] = block.word(from, p);
  }
}

// Panels of kTileColumns columns of b, `panel_stride` floats apart.
template <class T>
void pack_columns(const Block<T>& block, int64_t panel_stride, float* out) {
  if (block.line_stride == 1) {
    interleave_panels<kTileColumns>(block, panel_stride, out);
  } else if (block.depth_stride == 1) {
    transpose_panels(block, panel_stride, out);
  } else {
    gather_panels(block, panel_stride, out);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace halftone::cpu
HWY_AFTER_NAMESPACE();

#endif
