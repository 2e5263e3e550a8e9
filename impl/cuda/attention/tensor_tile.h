// Tiles of attention on tensor cores: rows in shared memory, products of them, and scores that are hidden or masked.
// A warp's scores are [blocks][columns / 8][4]: parts of c as fragment.h places them. Device code; all threads of a
// block, or of a warp, call these functions.
#pragma once

#include <cmath>

#include "cuda/attention/operands.h"
#include "cuda/attention/shared_copy.h"
#include "cuda/attention/shared_rows.h"
#include "cuda/attention/tensor_plan.h"
#include "cuda/base/stream.h"

namespace halftone::cuda {

inline constexpr float kLog2E = 1.44269504f;
inline constexpr float kLn2 = 0.693147181f;
inline constexpr float kHidden = -INFINITY;

// The scale of scores in units of log2.
inline float folded_scale(double scale) { return static_cast<float>(scale * 1.4426950408889634); }

// Calls f.operator()<kDepth, kIsMasked>() for the kernel that takes these arguments. Host code.
template <class F>
Status with_tensor_kernel(Stream& stream, const AttentionArgs& args, const F& f) {
  const bool is_masked = args.mask.data != nullptr || args.settings.dropout.p > 0;
  if (tensor_depth(args, device_of(stream).shared_memory) == 64) {
    return is_masked ? f.template operator()<64, true>() : f.template operator()<64, false>();
  }
  return is_masked ? f.template operator()<128, true>() : f.template operator()<128, false>();
}

inline Status too_many_tiles() { return Status::failure(Code::kUnsupported, "attention has more than 2^31 - 1 tiles"); }

HALFTONE_DEVICE inline int lane_number() { return static_cast<int>(threadIdx.x) % kWarp; }
HALFTONE_DEVICE inline int warp_number() { return static_cast<int>(threadIdx.x) / kWarp; }

// Rows of one head in global memory, dense and aligned to 16 bytes.
struct GlobalRows {
  unsigned char* data;
  int stride;  // bytes
  int rows;
  int chunks;  // of a row
};

HALFTONE_DEVICE inline GlobalRows global_rows(const HeadRows& rows, int64_t offset, int64_t count, int64_t depth) {
  return {static_cast<unsigned char*>(rows.elements.data) + 2 * offset, static_cast<int>(2 * rows.row_stride),
          static_cast<int>(count), static_cast<int>(depth / kChunk)};
}

// Begins to copy kRows rows from `first` on. Rows and columns that do not exist are filled with 0.
template <int kDepth, int kRows>
HALFTONE_DEVICE inline void copy_rows_later(SharedAddress to, const GlobalRows& from, int first) {
  constexpr int kChunks = kDepth / kChunk;
  constexpr int kStep = kTensorThreads / kChunks;
  // Recomputed for each tile: one address of each row, kept from tile to tile, would take the registers of the sums.
  const int thread = recomputed(static_cast<int>(threadIdx.x));
  const int chunk = thread % kChunks;
  const int row = thread / kChunks;
  const int rows = chunk < from.chunks ? from.rows - first - row : 0;
  const unsigned char* at = from.data + static_cast<int64_t>(first + row) * from.stride + chunk * kChunkBytes;
  to += chunk_offset(kDepth, row, chunk);
#pragma unroll
  for (int i = 0; i < kRows; i += kStep) {
    copy_16_later(to + rows_bytes(kDepth, i), i < rows ? at : from.data, i < rows);
    at += kStep * from.stride;
  }
}

// Writes kBlocks times 16 rows of the warp, rounded, through shared memory that the warp alone uses.
template <class T, int kDepth, int kBlocks>
HALFTONE_DEVICE inline void write_rows(const float (&sums)[kBlocks][kDepth / 8][4], SharedAddress shared,
                                       const GlobalRows& to, int first) {
  const int lane = lane_number();
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
    for (int j = 0; j < kDepth / 8; ++j) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const MatrixPlace place = place_in_c(lane, 2 * half);
        store_shared(shared + chunk_offset(kDepth, 16 * b + place.row, j) + 2 * place.column,
                     pack_pair<T>(sums[b][j][2 * half], sums[b][j][2 * half + 1]));
      }
    }
  }
  __syncwarp();
  constexpr int kChunks = kDepth / kChunk;
  const int chunk = lane % kChunks;
  for (int row = lane / kChunks; row < 16 * kBlocks; row += kWarp / kChunks) {
    if (first + row >= to.rows || chunk >= to.chunks) continue;
    const uint4 words = load_shared_16(shared + chunk_offset(kDepth, row, chunk));
    *reinterpret_cast<uint4*>(to.data + static_cast<int64_t>(first + row) * to.stride + chunk * kChunkBytes) = words;
  }
}

// scores = a b^T: the warp's rows of a at `a`, and 8 * kColumns rows of b.
template <class T, int kDepth, int kBlocks, int kColumns>
HALFTONE_DEVICE inline void multiply_rows(SharedAddress a, SharedAddress b, float (&scores)[kBlocks][kColumns][4]) {
  const LaneRow of_a = lane_row_by_rows(lane_number());
  const LaneRow of_b = lane_row_by_chunks(lane_number());
  a += chunk_offset(kDepth, of_a.row, of_a.chunk);
  b += chunk_offset(kDepth, of_b.row, of_b.chunk);
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) scores[i][j][e] = 0;
    }
  }
#pragma unroll
  for (int k = 0; k < kDepth / 16; ++k) {
    uint32_t left[kBlocks][4];
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      load_matrices(chunks_after(a, 2 * k) + rows_bytes(kDepth, 16 * i), left[i]);
    }
#pragma unroll
    for (int j = 0; j < kColumns; j += 2) {
      uint32_t right[4];
      load_matrices(chunks_after(b, 2 * k) + rows_bytes(kDepth, 8 * j), right);
#pragma unroll
      for (int i = 0; i < kBlocks; ++i) {
        multiply_add<T>(scores[i][j], left[i], right[0], right[1]);
        multiply_add<T>(scores[i][j + 1], left[i], right[2], right[3]);
      }
    }
  }
}

// The warp's weights, rounded to T, as the left operand of the next product: the places of c are those of a.
template <int kBlocks, int kColumns>
struct PackedWeights {
  uint32_t words[kBlocks][kColumns / 2][4];
};

template <class T, int kBlocks, int kColumns>
HALFTONE_DEVICE inline PackedWeights<kBlocks, kColumns> pack_weights(const float (&weights)[kBlocks][kColumns][4]) {
  PackedWeights<kBlocks, kColumns> packed;
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      for (int half = 0; half < 2; ++half) {
        packed.words[i][j / 2][j % 2 * 2 + half] = pack_pair<T>(weights[i][j][2 * half], weights[i][j][2 * half + 1]);
      }
    }
  }
  return packed;
}

// sums += weights b: b has 8 * kColumns rows.
template <class T, int kDepth, int kBlocks, int kColumns>
HALFTONE_DEVICE inline void add_weighted_rows(const PackedWeights<kBlocks, kColumns>& weights, SharedAddress b,
                                              float (&sums)[kBlocks][kDepth / 8][4]) {
  const LaneRow of_b = lane_row_by_rows(lane_number());
  b += chunk_offset(kDepth, of_b.row, of_b.chunk);
#pragma unroll
  for (int k = 0; k < kColumns; k += 2) {
#pragma unroll
    for (int j = 0; j < kDepth / 8; j += 2) {
      uint32_t right[4];
      load_transposed(chunks_after(b, j) + rows_bytes(kDepth, 8 * k), right);
#pragma unroll
      for (int i = 0; i < kBlocks; ++i) {
        multiply_add<T>(sums[i][j], weights.words[i][k / 2], right[0], right[1]);
        multiply_add<T>(sums[i][j + 1], weights.words[i][k / 2], right[2], right[3]);
      }
    }
  }
}

// A tile of scores: its first query and key, and its head's numbers. In a tile of kGradKeys rows are keys.
struct ScoreTile {
  int query, key;
  int64_t mask_offset;
  int first_row;  // the number of the head's first query among all
};

// Sizes and settings in the registers' 32 bits.
struct ScoreRules {
  int queries, keys;
  bool is_causal;
  int causal_offset;
};
HALFTONE_DEVICE inline ScoreRules score_rules(const AttentionShape& shape) {
  return {static_cast<int>(shape.queries), static_cast<int>(shape.keys), shape.is_causal,
          static_cast<int>(shape.causal_offset)};
}

// True if some score of a tile with `keys` keys may be hidden by its place. Queries that do not exist need not be
// hidden: their rows are zeros, which lead to no result that is stored, and to terms of 0 in the gradients of keys.
HALFTONE_DEVICE inline bool has_hidden(const ScoreRules& rules, const ScoreTile& tile, int keys) {
  return tile.key + keys > rules.keys || (rules.is_causal && tile.key + keys - 1 > tile.query + rules.causal_offset);
}

HALFTONE_DEVICE inline int keys_seen_by(const ScoreRules& rules, int query) {
  const int end = query + rules.causal_offset + 1;
  return rules.is_causal && end < rules.keys ? end : rules.keys;
}
HALFTONE_DEVICE inline int first_query_that_sees(const ScoreRules& rules, int key) {
  if (key >= rules.keys) return INT32_MAX / 2;
  return rules.is_causal ? key - rules.causal_offset : INT32_MIN / 2;
}
HALFTONE_DEVICE inline bool is_hidden(const ScoreRules& rules, int query, int key) {
  return key >= rules.keys || query >= rules.queries || (rules.is_causal && key > query + rules.causal_offset);
}

// The keys that any of `rows` queries from `first` on sees end here.
HALFTONE_DEVICE inline int visible_end_of_rows(const ScoreRules& rules, int first, int rows) {
  if (!rules.is_causal) return rules.keys;
  const int last = first + rows < rules.queries ? first + rows - 1 : rules.queries - 1;
  const int end = last + rules.causal_offset + 1;
  return end < 0 ? 0 : end < rules.keys ? end : rules.keys;
}

// Calls f(query, key, score) for each score of the warp. `row` is the warp's first row in the tile.
template <bool kRowsAreKeys, int kBlocks, int kColumns, class F>
HALFTONE_DEVICE inline void for_each_score(const ScoreTile& tile, float (&scores)[kBlocks][kColumns][4], int row,
                                           const F& f) {
  const MatrixPlace lane = place_in_c(lane_number(), 0);
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int r = row + 16 * i + lane.row + e / 2 * 8;
        const int c = 8 * j + lane.column + e % 2;
        f(tile.query + (kRowsAreKeys ? c : r), tile.key + (kRowsAreKeys ? r : c), scores[i][j][e]);
      }
    }
  }
}

// Each row has a bound, and each score one comparison with it. Queries that do not exist are as good as others.
template <bool kRowsAreKeys, int kBlocks, int kColumns>
HALFTONE_DEVICE inline void hide_scores(const ScoreRules& rules, const ScoreTile& tile, int row,
                                        float (&scores)[kBlocks][kColumns][4]) {
  const MatrixPlace lane = place_in_c(lane_number(), 0);
#pragma unroll
  for (int i = 0; i < 2 * kBlocks; ++i) {
    const int at = row + 16 * (i / 2) + lane.row + i % 2 * 8;
    // A row of a query sees the columns below the bound, one of a key is seen from the bound on.
    const int bound = (kRowsAreKeys ? first_query_that_sees(rules, tile.key + at) - tile.query
                                    : keys_seen_by(rules, tile.query + at) - tile.key) -
                      lane.column;
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const bool sees = kRowsAreKeys ? 8 * j + e >= bound : 8 * j + e < bound;
        if (!sees) scores[i / 2][j][i % 2 * 2 + e] = kHidden;
      }
    }
  }
}

// Turns products into scores in units of log2: scaled, hidden by place, and masked.
template <bool kRowsAreKeys, int kBlocks, int kColumns>
HALFTONE_DEVICE inline void mask_scores(const ScoreRules& rules, const HeadRows& mask, float multiplier,
                                        const ScoreTile& tile, int row, float (&scores)[kBlocks][kColumns][4]) {
  const bool has_mask = mask.elements.data != nullptr;
  const bool is_added = has_mask && is_float(mask.elements.dtype);
  for_each_score<kRowsAreKeys>(tile, scores, row, [&](int query, int key, float& score) {
    score *= multiplier;
    if (is_hidden(rules, query, key)) {
      score = kHidden;
    } else if (has_mask) {
      const float masking = load_row<float>(mask, tile.mask_offset, query, key);
      if (is_added) score += masking * kLog2E;
      if (!is_added && masking == 0) score = kHidden;
    }
  });
}

// Multiplies the warp's weights by the factors of dropout, without 1 / (1 - p).
template <bool kRowsAreKeys, int kBlocks, int kColumns>
HALFTONE_DEVICE inline void drop_weights(const AttentionShape& shape, const ScoreTile& tile, int row,
                                         float (&weights)[kBlocks][kColumns][4]) {
  for_each_score<kRowsAreKeys>(tile, weights, row, [&](int query, int key, float& weight) {
    if (dropout_factor<float>(shape, tile.first_row + query, key) == 0) weight = 0;
  });
}

// Reductions over the four lanes that share a row of c.
HALFTONE_DEVICE inline float largest_of_quad(float value) {
  value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, 1));
  return fmaxf(value, __shfl_xor_sync(kAllLanes, value, 2));
}
HALFTONE_DEVICE inline float sum_of_quad(float value) {
  value += __shfl_xor_sync(kAllLanes, value, 1);
  return value + __shfl_xor_sync(kAllLanes, value, 2);
}

}  // namespace halftone::cuda
