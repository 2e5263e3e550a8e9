// The sums of a's rows, which a product adds up block by block just before it packs the block: the packing then finds
// the block in L2. Included once per instruction set by gemm.cpp; pure functions, any thread.
#if defined(HALFTONE_GEMM_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_GEMM_SUMS_INL_H_
#undef HALFTONE_GEMM_SUMS_INL_H_
#else
#define HALFTONE_GEMM_SUMS_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/gemm/epilogue-inl.h"
#include "cpu/gemm/pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu {
namespace HWY_NAMESPACE {

// Sums are trees of kSumTree elements, added up over kSumPiece elements. Pieces are added up over a block, and blocks
// over the row, so that few roundings meet even where a row is long.
constexpr int64_t kSumTree = 8;
constexpr int64_t kSumPiece = 128;

// The sum of f(0) ... f(count - 1), up to kSumTree of them.
template <class F>
HWY_INLINE FloatVector sum_of_tree(int64_t count, F&& f) {
  if (count == kSumTree) {
    const auto pair = [&](int64_t i) HWY_ATTR { return hn::Add(f(i), f(i + 1)); };
    return hn::Add(hn::Add(pair(0), pair(2)), hn::Add(pair(4), pair(6)));
  }
  FloatVector sum = f(0);
  for (int64_t i = 1; i < count; ++i) sum = hn::Add(sum, f(i));
  return sum;
}

// Adjacent lines: vectors of lines are added along k. `sums` has whole vectors.
template <class T>
void sum_adjacent_lines(const Block<T>& block, int64_t begin, int64_t end, float* sums) {
  const FloatTag d;
  for (int64_t p = begin; p < end; p += kSumTree) {
    const int64_t count = std::min(kSumTree, end - p);
    const int64_t ahead = p + 2 * kSumTree <= block.depth ? kSumTree * block.depth_stride : 0;
    for (int64_t i = 0; i < block.lines; i += kLanes) {
      const auto load = [&](int64_t r) HWY_ATTR {
        const T* from = block.data + (p + r) * block.depth_stride;
        hwy::Prefetch(from + ahead + block.first + i);
        return widen_lines(d, from, block.first + i, block.total);
      };
      hn::StoreU(hn::Add(hn::LoadU(d, sums + i), sum_of_tree(count, load)), d, sums + i);
    }
  }
}

// A line of adjacent elements: whole vectors along k, then their lanes, then the rest.
template <class T>
float sum_of_line(const Block<T>& block, int64_t i, int64_t begin, int64_t end) {
  const FloatTag d;
  const T* from = block.data + (block.first + i) * block.line_stride;
  FloatVector sum = hn::Zero(d);
  int64_t p = begin;
  const auto load = [&](int64_t r) HWY_ATTR { return widen(d, from + p + r * kLanes); };
  for (; p + kSumTree * kLanes <= end; p += kSumTree * kLanes) sum = hn::Add(sum, sum_of_tree(kSumTree, load));
  for (; p + kLanes <= end; p += kLanes) sum = hn::Add(sum, load(0));
  alignas(64) float lanes[kLanes];
  hn::Store(sum, d, lanes);
  float total = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane) total += lanes[lane];
  for (; p < end; ++p) total += static_cast<float>(from[p]);
  return total;
}

template <class T>
float sum_of_scattered_line(const Block<T>& block, int64_t i, int64_t begin, int64_t end) {
  const T* from = block.data + (block.first + i) * block.line_stride;
  float total = 0;
  for (int64_t p = begin; p < end; ++p) total += static_cast<float>(from[p * block.depth_stride]);
  return total;
}

// totals[i] += the sum of line i of the block, whose words are single elements. Each sum depends on its own line and
// the block's depth alone.
template <class T>
void add_sums_of_lines(const Block<T>& block, float* totals) {
  float of_block[kMaxChunkRows] = {};
  for (int64_t begin = 0; begin < block.depth; begin += kSumPiece) {
    const int64_t end = std::min(begin + kSumPiece, block.depth);
    float of_piece[kMaxChunkRows + kLanes] = {};
    if (block.line_stride == 1 && block.depth_stride != 1) {
      sum_adjacent_lines(block, begin, end, of_piece);
    } else {
      for (int64_t i = 0; i < block.lines; ++i) {
        of_piece[i] =
            block.depth_stride == 1 ? sum_of_line(block, i, begin, end) : sum_of_scattered_line(block, i, begin, end);
      }
    }
    for (int64_t i = 0; i < block.lines; ++i) of_block[i] += of_piece[i];
  }
  for (int64_t i = 0; i < block.lines; ++i) totals[i] += of_block[i];
}

// Stores the totals of rows [row, row + rows). `totals` is changed.
inline void store_sums(const GemmArgs& args, int64_t row, int64_t rows, float* totals) {
  const View& sums = args.sums_of_a;
  const int64_t offset = row * sums.strides[0] * static_cast<int64_t>(size_of(sums.dtype));
  const Strided out = {static_cast<std::byte*>(sums.data) + offset, sums.dtype, sums.strides[0]};
  if (args.sums_store == Store::kAdd) {
    float before[kMaxChunkRows];
    load_tile(out, rows, before);
    for (int64_t i = 0; i < rows; ++i) totals[i] += before[i];
  }
  store_tile(totals, rows, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace halftone::cpu
HWY_AFTER_NAMESPACE();

#endif
