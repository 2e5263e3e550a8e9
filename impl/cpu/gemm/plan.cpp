#include "cpu/gemm/plan.h"

#include <algorithm>

namespace halftone::cpu {
namespace {

constexpr int64_t kCacheLine = 16;  // floats

// Measured: deep blocks read their panel of b from L2 instead of L1, but are faster than shallow ones, which read and
// write the tiles of c more often.
constexpr int64_t kMaxDepth = 768;
constexpr int64_t kMinChunkRows = 28;
constexpr int64_t kMinChunkColumns = 128;
// 8 MiB of FP32: a packed slab fits in a part of L3.
constexpr int64_t kSlabSize = int64_t{1} << 21;
constexpr int64_t kMinSlabColumns = 256;
// Multiply-adds that take about 5 us: less is not worth a second thread.
constexpr double kMinChunkWork = 1 << 19;
// Enough chunks for the threads of a small machine to finish at about the same time.
constexpr double kEnoughChunks = 8;

// An operand of at most this many elements is in L2 anyway; packing it costs more than it saves.
constexpr int64_t kSmallOperand = int64_t{1} << 15;
// A b of at most this many elements is read from L3 in place, unless its rows share cache sets, which they do at
// multiples of 2 KiB.
constexpr int64_t kMediumOperand = int64_t{1} << 20;
constexpr int64_t kConflictingStride = 512;
// A narrow tile reads one cache line of each row of b, and rows of usual lengths share few sets of L1 and L2: read in
// place by this many rows of tiles or more, b costs more than its packing.
constexpr int64_t kManyTiles = 32;
// If rows of a are further apart than this (8 KiB), packing, which reads row after row, is faster than reading the rows
// of a tile side by side.
constexpr int64_t kFarStride = 2048;
// L1 has 64 sets of cache lines on the x86 CPUs with AVX2 or AVX-512, and at least 8 lines in a set.
constexpr int64_t kCacheSets = 64;
constexpr int64_t kCacheWays = 8;

// Cuts `total` into equal pieces of at most `largest` and returns their size, a multiple of `unit`.
int64_t even_piece(int64_t total, int64_t largest, int64_t unit) {
  const int64_t pieces = ceil_div(total, std::max(largest, unit));
  return round_up(ceil_div(total, std::max<int64_t>(pieces, 1)), unit);
}

// Cuts rows first: with a column cut, every chunk in a row of chunks packs the same rows of a again.
void cut_into_chunks(int64_t m, int64_t n, double work, const TileShape& tile, GemmPlan* plan) {
  const int64_t wanted = static_cast<int64_t>(std::clamp(work / kMinChunkWork, 1.0, kEnoughChunks));
  const int64_t rows = std::clamp(ceil_div(m, wanted), kMinChunkRows, kMaxChunkRows);
  plan->chunk_rows = even_piece(m, rows, tile.rows);
  const int64_t column_chunks = ceil_div(wanted, ceil_div(m, plan->chunk_rows));
  plan->chunk_columns = even_piece(n, std::max(ceil_div(n, column_chunks), kMinChunkColumns), tile.columns);
}

// Dot products can read a in place if k runs along rows, and row length and distance are whole pairs.
bool lies_in_words(const View& a, int64_t word_elements) {
  if (word_elements == 1) return a.dtype == DType::kF32;
  return a.dtype == DType::kBF16 && a.strides[1] == 1 && a.shape[1] % word_elements == 0 &&
         a.strides[0] % word_elements == 0;
}

// True if one set of L1 cannot hold the lines of `rows` rows, `stride` words apart, at one k. Then each load of the
// microkernel misses L1: at a stride of 4 KiB, all rows of a tile share one set.
bool rows_share_a_set(int64_t stride, int64_t rows) {
  int64_t lines[kCacheSets] = {};
  int64_t previous = -1;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t line = row * stride / kCacheLine;
    if (line == previous) continue;
    previous = line;
    if (++lines[static_cast<uint64_t>(line) % kCacheSets] > kCacheWays) return true;
  }
  return false;
}

// The microkernel takes any strides of a, but is fast only along rows that are not too far apart and do not share cache
// sets.
bool reads_a_directly(const View& a, int64_t size, int64_t word_elements, const TileShape& tile) {
  if (!lies_in_words(a, word_elements)) return false;
  if (a.strides[1] != 1) return size <= kSmallOperand;
  const int64_t row_stride = a.strides[0] / word_elements;
  if (rows_share_a_set(row_stride, std::min(a.shape[0], tile.rows))) return false;
  return size <= kSmallOperand || row_stride <= kFarStride;
}

// The microkernel needs contiguous rows of b. With few rows of tiles a packed panel is used too seldom to pay off.
bool reads_b_directly(const View& b, int64_t size, int64_t m, const TileShape& tile) {
  if (b.dtype != DType::kF32 || b.strides[1] != 1) return false;
  if (size <= kSmallOperand || m <= 2 * tile.rows) return true;
  if (tile.columns <= kCacheLine && m >= kManyTiles * tile.rows) return false;
  return size <= kMediumOperand && b.strides[0] % kConflictingStride != 0;
}

}  // namespace

GemmPlan plan_gemm(const GemmArgs& args, const TileShape& tile, int64_t word_elements) noexcept {
  const int64_t m = args.c.shape[0];
  const int64_t n = args.c.shape[1];
  const int64_t k = ceil_div(args.a.shape[1], word_elements);
  GemmPlan plan = {};
  plan.word_elements = word_elements;
  plan.total_depth = k;
  plan.depth = even_piece(k, kMaxDepth, 16);
  plan.rounds_to_tf32 = args.rounds_to_tf32 && args.a.dtype == DType::kF32 && args.b.dtype == DType::kF32;
  plan.packs_a = plan.rounds_to_tf32 || !reads_a_directly(args.a, m * k, word_elements, tile);
  plan.packs_b = plan.rounds_to_tf32 || !reads_b_directly(args.b, k * n, m, tile);
  const int64_t widest = plan.packs_b ? std::max(kMinSlabColumns, kSlabSize / std::max<int64_t>(k, 1)) : n;
  plan.slab_columns = even_piece(n, widest, tile.columns);
  const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  plan.is_small = work <= kMinChunkWork;
  cut_into_chunks(m, std::min(n, plan.slab_columns), work, tile, &plan);

  const int64_t packed_columns = plan.packs_b ? plan.slab_columns : (n % tile.columns != 0 ? tile.columns : 0);
  const int64_t tiles = k > plan.depth ? plan.chunk_rows / tile.rows * (plan.chunk_columns / tile.columns) : 1;
  // Panels of a are rounded up to whole vectors; rows of a have one cache line of padding.
  const int64_t a_rows = plan.chunk_rows / tile.rows * round_up(tile.rows, tile.lanes);
  plan.slab_size = static_cast<size_t>(round_up(packed_columns * k, kCacheLine));
  plan.packed_a_size = plan.packs_a ? static_cast<size_t>(round_up(a_rows * padded_depth(plan.depth), kCacheLine)) : 0;
  plan.scratch_size = static_cast<size_t>(round_up(tiles * tile.rows * tile.columns, kCacheLine));
  return plan;
}

}  // namespace halftone::cpu
