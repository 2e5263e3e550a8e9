// Packs operands of codes: 8-bit floats and E2M1. Pieces of an operand are widened into a buffer in L1, each code times
// the scale of its block, and packed from there. Rows of a are widened to where they are packed. Included once per
// instruction set by gemm.cpp; pure functions, any thread.
#if defined(HALFTONE_GEMM_CODES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_GEMM_CODES_INL_H_
#undef HALFTONE_GEMM_CODES_INL_H_
#else
#define HALFTONE_GEMM_CODES_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "backend/block_scales.h"
#include "backend/view.h"
#include "cpu/gemm/pack-inl.h"
#include "cpu/gemm/scale_values.h"
#include "cpu/simd/vectors.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu {
namespace HWY_NAMESPACE {

// A code of E2M1 in a byte of its own; the upper four bits are 0.
struct E2M1Code {
  uint8_t bits;
};

// Shifted into an FP16 an E2M1 is 2^14 too small, its subnormal included.
HWY_INLINE FloatVector widen(FloatTag d, const E2M1Code* in) {
  const hn::Rebind<uint16_t, FloatTag> d16;
  const auto codes = hn::PromoteTo(d16, hn::LoadU(hn::Rebind<uint8_t, FloatTag>(), &in->bits));
  const auto sign = hn::ShiftLeft<12>(hn::And(codes, hn::Set(d16, 8)));
  const auto magnitude = hn::ShiftLeft<9>(hn::And(codes, hn::Set(d16, 7)));
  return hn::Mul(widen_float16(d, hn::Or(sign, magnitude)), hn::Set(d, 0x1p14f));
}

// A rectangle of a matrix of codes. Lines run `along` the dimension whose neighbours are neighbours in memory, or along
// the depth if there is none.
struct CodeBlock {
  const View* codes;
  const BlockScales* scales;
  int depth_dim;
  int along;
  int64_t first[2];
  int64_t size[2];

  bool is_along_depth() const { return along == depth_dim; }
  int64_t offset(int64_t line, int64_t at) const {
    const Shape& strides = codes->strides;
    return (first[1 - along] + line) * strides[1 - along] + (first[along] + at) * strides[along];
  }
  // Keeps the part [from, from + count) of a dimension, as far as the block goes.
  void cut(int dim, int64_t from, int64_t count) {
    first[dim] += from;
    size[dim] = std::min(count, size[dim] - from);
  }
};

// The whole matrix.
inline CodeBlock code_block(const View& codes, const BlockScales& scales, int depth_dim) {
  const bool has_adjacent_lines = codes.strides[1 - depth_dim] == 1 && codes.strides[depth_dim] != 1;
  const int along = has_adjacent_lines ? 1 - depth_dim : depth_dim;
  return {&codes, &scales, depth_dim, along, {0, 0}, {codes.shape[0], codes.shape[1]}};
}

// Codes of a line that are gathered at a time.
constexpr int64_t kGatheredCodes = 512;

// Unpacks `count` codes, `stride` apart, from the code `offset` on.
inline void gather_codes(const uint8_t* bytes, int64_t offset, int64_t stride, int64_t count, E2M1Code* out) {
  const hn::ScalableTag<uint16_t> d;
  constexpr int64_t kStep = 2 * hn::MaxLanes(d);
  int64_t i = 0;
  if (stride == 1 && offset % 2 == 0) {
    for (; i + kStep <= count; i += kStep) {
      const auto pairs = hn::PromoteTo(d, hn::LoadU(hn::Rebind<uint8_t, decltype(d)>(), bytes + (offset + i) / 2));
      const auto lower = hn::And(pairs, hn::Set(d, 0x000f));
      const auto upper = hn::And(hn::ShiftLeft<4>(pairs), hn::Set(d, 0x0f00));
      hn::StoreU(hn::Or(lower, upper), d, reinterpret_cast<uint16_t*>(out + i));
    }
  }
  for (; i < count; ++i) {
    const int64_t at = offset + i * stride;
    out[i].bits = static_cast<uint8_t>(bytes[at / 2] >> (4 * (at % 2)) & 15);
  }
}

template <class Code>
void gather_codes(const uint8_t* bytes, int64_t offset, int64_t stride, int64_t count, Code* out) {
  for (int64_t i = 0; i < count; ++i) out[i].bits = bytes[offset + i * stride];
}

// Codes [at, at + count) of a line: where they are if they are adjacent bytes, else in `buffer`.
template <class Code>
const Code* codes_of_line(const CodeBlock& block, int64_t line, int64_t at, int64_t count, Code* buffer) {
  const auto* bytes = static_cast<const uint8_t*>(block.codes->data);
  const int64_t stride = block.codes->strides[block.along];
  const int64_t offset = block.offset(line, at);
  if constexpr (!std::is_same_v<Code, E2M1Code>) {
    if (stride == 1) return reinterpret_cast<const Code*>(bytes + offset);
  }
  gather_codes(bytes, offset, stride, count, buffer);
  return buffer;
}

// Calls f(begin, end, scale) for the runs of [0, count) of a line that lie in one block of scales each; the line begins
// at element (`across`, `first`) of the matrix.
template <class F>
HWY_INLINE void for_each_run(const BlockScales& scales, int along, int64_t across, int64_t first, int64_t count,
                             F&& f) {
  if (scales.data == nullptr) return f(0, count, 1.0f);
  const int64_t length = along == 1 ? scales.columns : scales.rows;
  const int64_t lines = along == 1 ? scales.rows : scales.columns;
  int64_t block = first / length;
  int64_t index = across / lines * scales.strides[1 - along] + block * scales.strides[along];
  int64_t end = std::min(count, ++block * length - first);
  for (int64_t begin = 0; begin < count; begin = end, end = std::min(count, end + length)) {
    f(begin, end, table_value(scales, index));
    index += scales.strides[along];
  }
}

#if HWY_TARGET != HWY_SCALAR

using CodeWords = hn::Repartition<uint16_t, FloatTag>;

// Codes in 16-bit lanes as FP16 words, which are their numbers divided by kStep: half the instructions of 32-bit lanes.
HWY_INLINE hn::Vec<CodeWords> float16_words(CodeWords d, hn::Vec<CodeWords> codes, const Float8E4M3*) {
  const auto magnitude = hn::And(codes, hn::Set(d, 0x7f));
  const auto sign = hn::ShiftLeft<8>(hn::And(codes, hn::Set(d, 0x80)));
  const auto number = hn::ShiftLeft<7>(magnitude);
  return hn::Or(sign, hn::IfThenElse(hn::Eq(magnitude, hn::Set(d, 0x7f)), hn::Set(d, 0x7e00), number));
}
HWY_INLINE hn::Vec<CodeWords> float16_words(CodeWords, hn::Vec<CodeWords> codes, const Float8E5M2*) {
  return hn::ShiftLeft<8>(codes);
}
HWY_INLINE hn::Vec<CodeWords> float16_words(CodeWords d, hn::Vec<CodeWords> codes, const E2M1Code*) {
  return hn::Or(hn::ShiftLeft<12>(hn::And(codes, hn::Set(d, 8))), hn::ShiftLeft<9>(hn::And(codes, hn::Set(d, 7))));
}
template <class Code>
constexpr float kStep = 1.0f;
template <>
constexpr float kStep<Float8E4M3> = 0x1p8f;
template <>
constexpr float kStep<E2M1Code> = 0x1p14f;

HWY_INLINE void store_pair(FloatTag d, FloatVector lower, FloatVector upper, float* out) {
  hn::StoreU(lower, d, out);
  hn::StoreU(upper, d, out + kLanes);
}
HWY_INLINE void store_pair(FloatTag d, FloatVector lower, FloatVector upper, BFloat16* out) {
  hn::StoreU(narrow_pair(d, lower, upper), CodeWords(), &out->bits);
}

// out = codes * scale, for pairs of vectors. Returns how many codes that was.
template <class Code, class Out>
HWY_INLINE int64_t widen_pairs(const Code* codes, int64_t count, float scale, Out* out) {
  const FloatTag d;
  const CodeWords d16;
  const FloatVector factor = hn::Set(d, scale), step = hn::Set(d, kStep<Code>);
  int64_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    const auto bytes = hn::LoadU(hn::Rebind<uint8_t, CodeWords>(), &codes[i].bits);
    const auto words = float16_words(d16, hn::PromoteTo(d16, bytes), codes);
    const FloatVector lower = widen_float16(d, hn::LowerHalf(words));
    const FloatVector upper = widen_float16(d, hn::UpperHalf(hn::Half<CodeWords>(), words));
    // Not with factor * step, which may overflow.
    store_pair(d, hn::Mul(hn::Mul(lower, step), factor), hn::Mul(hn::Mul(upper, step), factor), out + i);
  }
  return i;
}

#else

template <class Code, class Out>
int64_t widen_pairs(const Code*, int64_t, float, Out*) {
  return 0;
}

#endif

template <class Code, class Out>
void widen_line(const CodeBlock& block, int64_t line, int64_t at, int64_t count, Out* out) {
  alignas(64) Code buffer[kGatheredCodes];
  const FloatTag d;
  const Code* codes = codes_of_line(block, line, at, count, buffer);
  const int64_t across = block.first[1 - block.along] + line;
  const auto widen_run = [&](int64_t begin, int64_t end, float scale) HWY_ATTR {
    begin += widen_pairs(codes + begin, end - begin, scale, out + begin);
    if (begin == end) return;
    const FloatVector factor = hn::Set(d, scale);
    const auto scaled = [&](FloatVector code) HWY_ATTR { return hn::Mul(code, factor); };
    for_each_vector(d, end - begin, scaled, out + begin, codes + begin);
  };
  for_each_run(*block.scales, block.along, across, block.first[block.along] + at, count, widen_run);
}

// Lines of a block are too short for the CPU to see the next ones coming.
constexpr int64_t kPrefetchLines = 4;

template <class Code>
void prefetch_line(const CodeBlock& block, int64_t line, int64_t count) {
  constexpr int64_t kCacheLine = 64, kCodesOfByte = std::is_same_v<Code, E2M1Code> ? 2 : 1;
  if (line >= block.size[1 - block.along] || block.codes->strides[block.along] != 1) return;
  const auto* bytes = static_cast<const uint8_t*>(block.codes->data) + block.offset(line, 0) / kCodesOfByte;
  for (int64_t at = 0; at < count / kCodesOfByte; at += kCacheLine) hwy::Prefetch(bytes + at);
}

template <class Code, class Out>
HWY_NOINLINE void widen_codes_of(const CodeBlock& block, Out* out, int64_t stride) {
  const int64_t count = block.size[block.along];
  for (int64_t line = 0; line < block.size[1 - block.along]; ++line) {
    prefetch_line<Code>(block, line + kPrefetchLines, count);
    for (int64_t at = 0; at < count; at += kGatheredCodes) {
      widen_line<Code>(block, line, at, std::min(kGatheredCodes, count - at), out + line * stride + at);
    }
  }
}

// Lines along `block.along`, `stride` elements apart.
template <class Out>
void widen_codes(const CodeBlock& block, Out* out, int64_t stride) {
  if (block.codes->dtype == DType::kF8E4M3) return widen_codes_of<Float8E4M3>(block, out, stride);
  if (block.codes->dtype == DType::kF8E5M2) return widen_codes_of<Float8E5M2>(block, out, stride);
  widen_codes_of<E2M1Code>(block, out, stride);
}

// 16 KiB of words, and some between lines of 512 bytes, which would share cache sets.
constexpr int64_t kPieceWords = 4096;
constexpr int64_t kPieceGap = 16;

// Calls f(piece, line, p) for pieces of the block as words of type T. A piece begins at word `p` of line `line` of the
// operand's block.
// Not a part of its caller's frame, which products of other operands have on the stack, too.
template <class T, class F>
HWY_NOINLINE void for_each_piece(const CodeBlock& block, F&& f) {
  constexpr int64_t kElements = Block<T>::kElements;
  alignas(64) ElementOf<T> buffer[(kPieceWords + kTileColumns * kPieceGap) * kElements];
  const int depth_dim = block.depth_dim;
  const int64_t most_lines = block.is_along_depth() ? kTileColumns : block.size[1 - depth_dim];
  const int64_t most_depth = kPieceWords / most_lines * kElements;
  for (int64_t line = 0; line < block.size[1 - depth_dim]; line += most_lines) {
    for (int64_t p = 0; p < block.size[depth_dim]; p += most_depth) {
      CodeBlock piece = block;
      piece.cut(1 - depth_dim, line, most_lines);
      piece.cut(depth_dim, p, most_depth);
      const int64_t lines = piece.size[1 - depth_dim];
      const int64_t stride = block.is_along_depth() ? most_depth + kPieceGap * kElements : lines;
      widen_codes(piece, buffer, stride);
      Block<T> words = {buffer, 0, lines, lines, piece.size[depth_dim], stride, 1};
      if (!block.is_along_depth()) std::swap(words.line_stride, words.depth_stride);
      f(words, line, p / kElements);
    }
  }
}

// As pack_columns, for columns of b.
template <class T>
void pack_columns_of_codes(const CodeBlock& block, int64_t panel_stride, float* out) {
  for_each_piece<T>(block, [&](const Block<T>& piece, int64_t line, int64_t p) {
    pack_columns(piece, panel_stride, out + line / kTileColumns * panel_stride + p * kTileColumns);
  });
}

// As interleave_panels, for rows of a. REQUIRES: they are adjacent.
template <class T>
void interleave_rows_of_codes(const CodeBlock& block, int64_t width, int64_t panel_stride, float* out) {
  for_each_piece<T>(block, [&](const Block<T>& piece, int64_t, int64_t p) {
    interleave_panels<kTileRows>(piece, panel_stride, out + p * width);
  });
}

// As pack_rows.
template <class T>
void pack_rows_of_codes(const CodeBlock& block, float* out) {
  constexpr int64_t kElements = Block<T>::kElements;
  const int64_t words = ceil_div(block.size[1], kElements);
  const int64_t stride = padded_depth(words) * kElements;
  auto* elements = reinterpret_cast<ElementOf<T>*>(out);
  widen_codes(block, elements, stride);
  if (words * kElements == block.size[1]) return;
  for (int64_t i = 0; i < block.size[0]; ++i) elements[i * stride + block.size[1]] = ElementOf<T>{0};
}

}  // namespace HWY_NAMESPACE
}  // namespace halftone::cpu
HWY_AFTER_NAMESPACE();

#endif
