#include "backend/cpu/gemm/plan.h"

#include <algorithm>

namespace halftone::cpu {
namespace {

constexpr int64_t kCacheLine = 16;  // floats

// A panel of b (32 columns) of this depth fills most of a 48 KiB L1, a panel of a streams past it.
constexpr int64_t kMaxDepth = 384;
// Rows of a chunk: 12 tiles of AVX-512, 28 of AVX2; with kMaxDepth, a quarter of a 1 MiB L2.
constexpr int64_t kMaxChunkRows = 168;
constexpr int64_t kMinChunkRows = 56;
constexpr int64_t kMinChunkColumns = 128;
// A packed slab stays within a share of L3.
constexpr int64_t kSlabSize = int64_t{1} << 21;
constexpr int64_t kMinSlabColumns = 256;
// Multiply-adds that take about 5 us: less is not worth a second thread.
constexpr int64_t kMinChunkWork = int64_t{1} << 19;
// Enough pieces for the threads of a small machine to end at about the same time.
constexpr int64_t kEnoughChunks = 8;

// Up to this many elements the operand is in L2 anyway, and packing would cost more than it saves.
constexpr int64_t kDirectSize = int64_t{1} << 15;

// The size of equal pieces, at most `largest`, that `total` is cut into; a multiple of `unit`.
int64_t even_piece(int64_t total, int64_t largest, int64_t unit) {
  const int64_t pieces = ceil_div(total, std::max(largest, unit));
  return round_up(ceil_div(total, std::max<int64_t>(pieces, 1)), unit);
}

void cut_into_chunks(int64_t m, int64_t n, int64_t k, const TileShape& tile, GemmPlan* plan) {
  plan->chunk_rows = even_piece(m, kMaxChunkRows, tile.rows);
  plan->chunk_columns = plan->slab_columns;
  const auto chunks = [&] { return ceil_div(m, plan->chunk_rows) * ceil_div(n, plan->chunk_columns); };
  const auto halve = [&](int64_t size, int64_t unit) { return round_up(ceil_div(size, 2), unit); };
  while (chunks() < kEnoughChunks && plan->chunk_rows * plan->chunk_columns * k >= 2 * kMinChunkWork) {
    if (plan->chunk_rows >= 2 * kMinChunkRows || plan->chunk_columns < 2 * kMinChunkColumns) {
      if (plan->chunk_rows <= tile.rows) break;
      plan->chunk_rows = halve(plan->chunk_rows, tile.rows);
    } else {
      plan->chunk_columns = halve(plan->chunk_columns, tile.columns);
    }
  }
}

bool reads_a_directly(const View& a, int64_t size) { return a.dtype == DType::kF32 && size <= kDirectSize; }

// The microkernel wants rows of b without gaps. With few rows of tiles a panel is used too seldom to repay packing.
bool reads_b_directly(const View& b, int64_t size, int64_t m, const TileShape& tile) {
  if (b.dtype != DType::kF32 || b.strides[1] != 1) return false;
  return size <= kDirectSize || m <= 2 * tile.rows;
}

}  // namespace

GemmPlan plan_gemm(const GemmArgs& args, const TileShape& tile) noexcept {
  const int64_t m = args.c.shape[0];
  const int64_t n = args.c.shape[1];
  const int64_t k = args.a.shape[1];
  GemmPlan plan = {};
  plan.depth = even_piece(k, kMaxDepth, 16);
  plan.packs_a = !reads_a_directly(args.a, m * k);
  plan.packs_b = !reads_b_directly(args.b, k * n, m, tile);
  const int64_t widest = plan.packs_b ? std::max(kMinSlabColumns, kSlabSize / std::max<int64_t>(k, 1)) : n;
  plan.slab_columns = even_piece(n, widest, tile.columns);
  plan.is_small = m * n * k <= kMinChunkWork;
  cut_into_chunks(m, std::min(n, plan.slab_columns), k, tile, &plan);

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
