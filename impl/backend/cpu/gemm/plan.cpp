#include "backend/cpu/gemm/plan.h"

#include <algorithm>

namespace halftone::cpu {
namespace {

constexpr int64_t kCacheLine = 16;  // floats

// Measured: deep blocks, for which a panel of b comes from L2 instead of L1, still beat shallow ones, which go through
// the tiles of c more often.
constexpr int64_t kMaxDepth = 768;
// Rows of a chunk: 12 tiles of AVX-512, 28 of AVX2; with kMaxDepth, half of a 1 MiB L2.
constexpr int64_t kMaxChunkRows = 168;
constexpr int64_t kMinChunkRows = 28;
constexpr int64_t kMinChunkColumns = 128;
// A packed slab stays within a share of L3.
constexpr int64_t kSlabSize = int64_t{1} << 21;
constexpr int64_t kMinSlabColumns = 256;
// Multiply-adds that take about 5 us: less is not worth a second thread.
constexpr double kMinChunkWork = 1 << 19;
// Enough pieces for the threads of a small machine to end at about the same time.
constexpr double kEnoughChunks = 8;

// An operand of up to this many elements is in L2 anyway, and packing costs more than it saves.
constexpr int64_t kSmallOperand = int64_t{1} << 15;
// The same for b in L3, if the rows of a panel do not meet in the same few sets of the caches, as they do at distances
// of 2 KiB and its multiples.
constexpr int64_t kMediumOperand = int64_t{1} << 20;
constexpr int64_t kConflictingStride = 512;
// Rows of a at larger distances (8 KiB) are read faster one after another, by packing, than a tile's rows at once.
constexpr int64_t kFarStride = 2048;

// The size of equal pieces, at most `largest`, that `total` is cut into; a multiple of `unit`.
int64_t even_piece(int64_t total, int64_t largest, int64_t unit) {
  const int64_t pieces = ceil_div(total, std::max(largest, unit));
  return round_up(ceil_div(total, std::max<int64_t>(pieces, 1)), unit);
}

// Rows are cut first: a column cut makes every chunk of a row pack the same part of a once more.
void cut_into_chunks(int64_t m, int64_t n, double work, const TileShape& tile, GemmPlan* plan) {
  const int64_t wanted = static_cast<int64_t>(std::clamp(work / kMinChunkWork, 1.0, kEnoughChunks));
  const int64_t rows = std::clamp(ceil_div(m, wanted), kMinChunkRows, kMaxChunkRows);
  plan->chunk_rows = even_piece(m, rows, tile.rows);
  const int64_t column_chunks = ceil_div(wanted, ceil_div(m, plan->chunk_rows));
  plan->chunk_columns = even_piece(n, std::max(ceil_div(n, column_chunks), kMinChunkColumns), tile.columns);
}

// Pairs are found where they are wanted if k goes along rows, which are whole pairs long and whole pairs apart.
bool lies_in_words(const View& a, int64_t word_elements) {
  if (word_elements == 1) return a.dtype == DType::kF32;
  return a.strides[1] == 1 && a.shape[1] % word_elements == 0 && a.strides[0] % word_elements == 0;
}

// The microkernel takes any strides of a, but keeps its speed only along rows, and along rows that are not too far
// apart.
bool reads_a_directly(const View& a, int64_t size, int64_t word_elements) {
  if (!lies_in_words(a, word_elements)) return false;
  return size <= kSmallOperand || (a.strides[1] == 1 && a.strides[0] / word_elements <= kFarStride);
}

// The microkernel wants rows of b without gaps. With few rows of tiles a panel is used too seldom to repay packing.
bool reads_b_directly(const View& b, int64_t size, int64_t m, const TileShape& tile) {
  if (b.dtype != DType::kF32 || b.strides[1] != 1) return false;
  if (size <= kSmallOperand || m <= 2 * tile.rows) return true;
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
  plan.packs_a = !reads_a_directly(args.a, m * k, word_elements);
  plan.packs_b = !reads_b_directly(args.b, k * n, m, tile);
  const int64_t widest = plan.packs_b ? std::max(kMinSlabColumns, kSlabSize / std::max<int64_t>(k, 1)) : n;
  plan.slab_columns = even_piece(n, widest, tile.columns);
  const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  plan.is_small = work <= kMinChunkWork;
  cut_into_chunks(m, std::min(n, plan.slab_columns), work, tile, &plan);

  const int64_t packed_columns = plan.packs_b ? plan.slab_columns : (n % tile.columns != 0 ? tile.columns : 0);
  const int64_t tiles = k > plan.depth ? plan.chunk_rows / tile.rows * (plan.chunk_columns / tile.columns) : 1;
  // Panels of a are as wide as whole vectors, rows of a one cache line longer than a block is deep.
  const int64_t a_rows = plan.chunk_rows / tile.rows * round_up(tile.rows, tile.lanes);
  plan.slab_size = static_cast<size_t>(round_up(packed_columns * k, kCacheLine));
  plan.packed_a_size = plan.packs_a ? static_cast<size_t>(round_up(a_rows * padded_depth(plan.depth), kCacheLine)) : 0;
  plan.scratch_size = static_cast<size_t>(round_up(tiles * tile.rows * tile.columns, kCacheLine));
  return plan;
}

}  // namespace halftone::cpu
