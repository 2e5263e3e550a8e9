// The sizes of one attention call and of its workers' scratch memory: pure functions of the arguments' shapes and of
// the pool's width. Results do not depend on the width.
#pragma once

#include <cstdint>

#include "backend/kernels/attention.h"
#include "cpu/gemm/plan.h"

namespace halftone::cpu {

// Keys are taken in blocks of this many. Measured: with 128, products of 128 deep add to their results too often.
inline constexpr int64_t kKeyBlock = 256;
static_assert(kKeyBlock % kAttentionDropoutRow == 0, "a block of keys begins on a whole block of dropout's words");
// The distance of rows of scores. Not a power of two, so that a tile's rows do not share sets of L1; the room after the
// last key lets vectors run over the end.
inline constexpr int64_t kScoreStride = kKeyBlock + 16;

// A block of weights in pairs of BF16, whose rows are half as long.
inline constexpr int64_t kPairStride = kKeyBlock / 2 + 16;

// The packed operands of the products: elements of the compute type, or words that hold pairs of BF16 elements.
enum class Operands { kElements, kPairs };

struct AttentionSizes {
  explicit AttentionSizes(const AttentionArgs& args) noexcept;

  int64_t batches;
  int64_t heads;
  int64_t group;  // heads that share one head of k and v
  int64_t queries;
  int64_t keys;
  int64_t depth;
  int64_t value_depth;

  int64_t kv_heads() const { return heads / group; }
  int64_t rows() const { return batches * heads * queries; }
  int64_t key_blocks() const { return ceil_div(keys, kKeyBlock); }
  // About 5 us of multiply-adds: less is not worth a second thread.
  bool is_small() const;
};

// Offsets in one worker's scratch, in elements of the compute type or words. Packed rows are padded_depth(depth) apart.
// An operand whose rows are the depth of a product is packed as rows; if these are words, as panels of pairs of rows.
struct ForwardScratch {
  explicit ForwardScratch(const AttentionSizes& sizes, Operands operands = Operands::kElements) noexcept;

  int64_t query_block;  // queries are taken in blocks of this many
  int64_t q_rows;
  int64_t k_panels;
  int64_t v_rows;
  int64_t scores;
  int64_t output;
  int64_t largest;  // of each row's scores so far
  int64_t sums;     // of each row's exponentials so far
  int64_t size;
};

struct BackwardScratch {
  BackwardScratch(const AttentionSizes& sizes, int pool_width, Operands operands = Operands::kElements) noexcept;

  int64_t query_block;
  // One pass over a head of k and v gives all gradients with five products a tile. It needs as many such heads as
  // threads. Else the gradient of q has a pass of its own, in which rows of queries are independent, at seven products.
  // Both ways add up the same terms in the same order.
  bool is_one_pass;
  int64_t q_rows;
  int64_t grad_rows;
  int64_t k_rows;
  int64_t k_panels;
  int64_t v_panels;
  int64_t scores;
  int64_t slopes;
  int64_t q_pairs;     // pairs alone: q, the gradient of the output, and the slopes once more
  int64_t grad_pairs;  //
  int64_t slope_rows;  //
  int64_t grad_q;      // of a block of queries; for one pass of all queries of a group
  int64_t grad_k;
  int64_t grad_v;
  int64_t size;
};

}  // namespace halftone::cpu
