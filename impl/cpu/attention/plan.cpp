#include "cpu/attention/plan.h"

#include <algorithm>

#include "cpu/gemm/dot.h"

namespace halftone::cpu {
namespace {

// Measured: blocks share one packing of k and v, but their scores have to stay in L2.
constexpr int64_t kForwardQueries = 168;
constexpr int64_t kBackwardQueries = 96;
static_assert(kBackwardQueries <= kKeyBlock, "backward packs the output of a block of queries as a block of keys");
// Dot products: a block is whole tiles, and so whole pairs of rows.
constexpr int64_t kPairBackwardQueries = 7 * kDotTileRows;
static_assert(kForwardQueries % kDotTileRows == 0 && kDotTileRows % 2 == 0);
static_assert(2 * kPairBackwardQueries <= kKeyBlock, "backward packs two blocks of queries as a block of keys");
constexpr double kSmallWork = 1 << 19;
constexpr int64_t kCacheLine = 16;  // elements of FP32

// Equal blocks of at most `largest`.
int64_t even_block(int64_t total, int64_t largest) { return ceil_div(total, ceil_div(total, largest)); }

int64_t query_block_of(int64_t queries, int64_t largest, Operands operands) {
  const int64_t block = even_block(queries, largest);
  return operands == Operands::kPairs ? round_up(block, kDotTileRows) : block;
}

// Sizes of packed operands. Panels have the width of a dot product's tile.
class Packed {
 public:
  explicit Packed(Operands operands) : operands_(operands) {}

  int64_t words(int64_t depth) const { return operands_ == Operands::kPairs ? ceil_div(depth, kDotElements) : depth; }
  int64_t rows(int64_t count, int64_t depth) const { return count * padded_depth(words(depth)); }
  // Rows as the depth of a product.
  int64_t depth_rows(int64_t count, int64_t columns) const {
    if (operands_ == Operands::kElements) return rows(count, columns);
    return words(count) * round_up(columns, 2 * kDotLanes);
  }
  // For operands that only pairs need.
  int64_t only_pairs(int64_t size) const { return operands_ == Operands::kPairs ? size : 0; }

 private:
  Operands operands_;
};

// Hands out parts of a worker's scratch.
class Parts {
 public:
  int64_t take(int64_t elements) {
    const int64_t begin = end_;
    end_ += round_up(elements, kCacheLine);
    return begin;
  }
  int64_t end() const { return end_; }

 private:
  int64_t end_ = 0;
};

}  // namespace

AttentionSizes::AttentionSizes(const AttentionArgs& args) noexcept {
  const int rank = args.q.rank();
  heads = args.q.shape[rank - 3];
  queries = args.q.shape[rank - 2];
  depth = args.q.shape[rank - 1];
  keys = args.k.shape[rank - 2];
  value_depth = args.v.shape[rank - 1];
  group = heads / args.k.shape[rank - 3];
  batches = args.q.numel() / (heads * queries * depth);
}

bool AttentionSizes::is_small() const {
  return static_cast<double>(rows()) * static_cast<double>(keys) * static_cast<double>(depth + value_depth) <=
         kSmallWork;
}

ForwardScratch::ForwardScratch(const AttentionSizes& sizes, Operands operands) noexcept {
  const Packed packed(operands);
  Parts parts;
  query_block = query_block_of(sizes.queries, kForwardQueries, operands);
  q_rows = parts.take(packed.rows(query_block, sizes.depth));
  k_panels = parts.take(kKeyBlock * packed.words(sizes.depth));
  v_rows = parts.take(packed.depth_rows(kKeyBlock, sizes.value_depth));
  scores = parts.take(query_block * kScoreStride);
  output = parts.take(query_block * padded_depth(sizes.value_depth));
  largest = parts.take(query_block);
  sums = parts.take(query_block);
  size = parts.end();
}

BackwardScratch::BackwardScratch(const AttentionSizes& sizes, int pool_width, Operands operands) noexcept {
  const Packed packed(operands);
  Parts parts;
  const int64_t most_queries = operands == Operands::kPairs ? kPairBackwardQueries : kBackwardQueries;
  query_block = query_block_of(sizes.queries, most_queries, operands);
  const int64_t heads = sizes.batches * sizes.kv_heads();
  is_one_pass = sizes.is_small() || heads % pool_width == 0 || heads >= 4 * int64_t{pool_width};
  q_rows = parts.take(packed.rows(query_block, sizes.depth));
  grad_rows = parts.take(packed.rows(query_block, sizes.value_depth));
  k_rows = parts.take(packed.depth_rows(kKeyBlock, sizes.depth));
  k_panels = parts.take(kKeyBlock * packed.words(sizes.depth));
  v_panels = parts.take(kKeyBlock * packed.words(sizes.value_depth));
  scores = parts.take(query_block * kScoreStride);
  slopes = parts.take(query_block * kScoreStride);
  q_pairs = parts.take(packed.only_pairs(packed.depth_rows(query_block, sizes.depth)));
  grad_pairs = parts.take(packed.only_pairs(packed.depth_rows(query_block, sizes.value_depth)));
  slope_rows = parts.take(packed.only_pairs(query_block * kPairStride));
  const int64_t grad_q_rows = is_one_pass ? sizes.group * sizes.queries : query_block;
  grad_q = parts.take(grad_q_rows * padded_depth(sizes.depth));
  grad_k = parts.take(kKeyBlock * padded_depth(sizes.depth));
  grad_v = parts.take(kKeyBlock * padded_depth(sizes.value_depth));
  size = parts.end();
}

}  // namespace halftone::cpu
