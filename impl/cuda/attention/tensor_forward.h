// Attention forward on tensor cores (Dao, arXiv:2307.08691): a warp keeps its rows of the output in registers, and the
// block goes over tiles of keys, the next of which is copied meanwhile. Scores stay in FP32; weights are rounded to the
// dtype of v for the product with it. Device code.
#pragma once

#include "cuda/attention/tensor_entries.h"
#include "cuda/attention/tensor_tile.h"
#include "cuda/base/launch.h"

namespace halftone::cuda {

struct TensorForward {
  AttentionShape shape;
  HeadRows q, k, v, mask, output;
  float* log_sums;   // null if they are not needed
  float multiplier;  // scale * log2(e)
};

// The state of the warp's rows: each lane has two rows of a block of 16, and its own part of their sums.
template <int kBlocks>
struct RowStates {
  float largest[kBlocks][2];
  float sums[kBlocks][2];
};

// Scores become weights, and what was summed so far is multiplied by e^(old - new). Cases: a row that has seen no key
// has the largest score -infinity, and its weights are 0; a NaN makes the sum NaN.
template <int kDepth, int kBlocks, int kColumns>
HALFTONE_DEVICE inline void take_scores(float multiplier, float (&scores)[kBlocks][kColumns][4],
                                        RowStates<kBlocks>& state, float (&sums)[kBlocks][kDepth / 8][4]) {
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float largest = state.largest[i][half];
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        largest = fmaxf(largest, fmaxf(scores[i][j][2 * half], scores[i][j][2 * half + 1]));
      }
      largest = largest_of_quad(largest);
      const float shift = largest == kHidden ? 0.0f : largest * multiplier;
      const float shrink = power_of_two(fmaf(state.largest[i][half], multiplier, -shift));
      state.largest[i][half] = largest;
      float sum = state.sums[i][half] * shrink;
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
#pragma unroll
        for (int e = 2 * half; e < 2 * half + 2; ++e) {
          scores[i][j][e] = power_of_two(fmaf(scores[i][j][e], multiplier, -shift));
          sum += scores[i][j][e];
        }
      }
      state.sums[i][half] = sum;
#pragma unroll
      for (int j = 0; j < kDepth / 8; ++j) {
        sums[i][j][2 * half] *= shrink;
        sums[i][j][2 * half + 1] *= shrink;
      }
    }
  }
}

// Divides by the sums and writes the log sums. Cases: a row without a key gives 0 and infinity.
template <int kDepth, int kBlocks>
HALFTONE_DEVICE inline void finish_rows(const TensorForward& call, float multiplier, int64_t first_row, int query,
                                        const RowStates<kBlocks>& state, float (&sums)[kBlocks][kDepth / 8][4]) {
  const float factor = call.shape.drops ? static_cast<float>(call.shape.dropout_scale) : 1.0f;
  const MatrixPlace lane = place_in_c(lane_number(), 0);
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float sum = sum_of_quad(state.sums[i][half]);
      const float inverse = sum == 0 ? 0.0f : factor / sum;
#pragma unroll
      for (int j = 0; j < kDepth / 8; ++j) {
        sums[i][j][2 * half] *= inverse;
        sums[i][j][2 * half + 1] *= inverse;
      }
      const int row = query + 16 * i + lane.row + 8 * half;
      if (call.log_sums == nullptr || lane.column != 0 || row >= call.shape.queries) continue;
      call.log_sums[first_row + row] = sum == 0 ? INFINITY : fmaf(state.largest[i][half] * multiplier, kLn2, logf(sum));
    }
  }
}

// Block: a tile of queries of one head. kIsMasked: with a mask or dropout. Shared memory: q, then two stages of k and
// v.
template <class T, int kDepth, bool kIsMasked>
HALFTONE_KERNEL __launch_bounds__(kTensorThreads, 2)
    tensor_forward_kernel(const __grid_constant__ TensorForward call, int tiles) {
  constexpr TensorKernel kKernel = {TensorPass::kForward, kDepth, kIsMasked};
  constexpr TensorTiles kTiles = tensor_tiles(kKernel);
  constexpr int kRows = tensor_rows(kKernel);
  constexpr uint32_t kTileBytes = rows_bytes(kDepth, kTiles.columns);
  const AttentionShape& shape = call.shape;
  const ScoreRules rules = score_rules(shape);
  // With a causal mask the last queries have the most work, so they begin.
  const int first = (tiles - 1 - static_cast<int>(blockIdx.x) % tiles) * kRows;
  const int number = static_cast<int>(blockIdx.x) / tiles;  // of the head, among all batches
  const Head head = {number / static_cast<int>(shape.heads), number % static_cast<int>(shape.heads)};
  const Head kv_head = {head.batch, static_cast<int>(head.head) / static_cast<int>(shape.group)};
  const GlobalRows q = global_rows(call.q, offset_of(shape, call.q, head), shape.queries, shape.depth);
  const GlobalRows k = global_rows(call.k, offset_of(shape, call.k, kv_head), shape.keys, shape.depth);
  const GlobalRows v = global_rows(call.v, offset_of(shape, call.v, kv_head), shape.keys, shape.value_depth);

  const SharedAddress of_q = dynamic_shared_address();
  const SharedAddress stages = of_q + rows_bytes(kDepth, kRows);
  const auto copy_stage = [&](int key, SharedAddress to) {
    copy_rows_later<kDepth, kTiles.columns>(to, k, key);
    copy_rows_later<kDepth, kTiles.columns>(to + kTileBytes, v, key);
    commit_copies();
  };
  copy_rows_later<kDepth, kRows>(of_q, q, first);
  copy_stage(0, stages);

  const int warp_row = warp_number() * 16 * kTiles.blocks;
  const SharedAddress of_warp = of_q + rows_bytes(kDepth, warp_row);
  const float multiplier = kIsMasked ? 1.0f : call.multiplier;
  ScoreTile tile = {.query = first,
                    .key = 0,
                    .mask_offset = kIsMasked ? offset_of(shape, call.mask, head) : 0,
                    .first_row = number * rules.queries};
  float sums[kTiles.blocks][kDepth / 8][4] = {};
  RowStates<kTiles.blocks> state;
#pragma unroll
  for (int i = 0; i < 2 * kTiles.blocks; ++i) {
    state.largest[i / 2][i % 2] = kHidden;
    state.sums[i / 2][i % 2] = 0;
  }
  const int end = visible_end_of_rows(rules, first, kRows);
  SharedAddress stage = stages, next_stage = stages + 2 * kTileBytes;
  for (; tile.key < end; tile.key += kTiles.columns) {
    wait_for_copies();
    __syncthreads();  // the tile is written, and the one before is read no more
    if (tile.key + kTiles.columns < end) copy_stage(tile.key + kTiles.columns, next_stage);
    float scores[kTiles.blocks][kTiles.columns / 8][4];
    multiply_rows<T, kDepth>(of_warp, stage, scores);
    if constexpr (kIsMasked) {
      mask_scores<false>(rules, call.mask, call.multiplier, tile, warp_row, scores);
    } else if (has_hidden(rules, tile, kTiles.columns)) {
      hide_scores<false>(rules, tile, warp_row, scores);
    }
    take_scores<kDepth>(multiplier, scores, state, sums);
    if (kIsMasked && shape.drops) drop_weights<false>(shape, tile, warp_row, scores);
    add_weighted_rows<T, kDepth>(pack_weights<T>(scores), stage + kTileBytes, sums);
    const SharedAddress read = stage;
    stage = next_stage;
    next_stage = read;
  }
  wait_for_copies();
  __syncthreads();  // no thread still copies to the rows of q
  finish_rows<kDepth>(call, multiplier, tile.first_row, first + warp_row, state, sums);
  write_rows<T, kDepth>(sums, of_warp,
                        global_rows(call.output, offset_of(shape, call.output, head), shape.queries, shape.value_depth),
                        first + warp_row);
}

template <class T, int kDepth, bool kIsMasked>
Status launch_tensor_forward(Stream& stream, const TensorForward& call) noexcept {
  constexpr TensorKernel kKernel = {TensorPass::kForward, kDepth, kIsMasked};
  const int64_t heads = call.shape.batches * call.shape.heads;
  const int64_t blocks = tensor_blocks(kKernel, call.shape.queries, heads);
  if (blocks > INT32_MAX) return too_many_tiles();
  const Grid grid = {.blocks = blocks, .threads = kTensorThreads, .shared_bytes = tensor_shared_bytes(kKernel)};
  return launch(stream, grid, tensor_forward_kernel<T, kDepth, kIsMasked>, call, static_cast<int>(blocks / heads));
}

template <class T>
Status tensor_forward(Stream& stream, const AttentionArgs& args, const AttentionResult& out) noexcept {
  const TensorForward call = {.shape = attention_shape(args),
                              .q = head_rows_of(args.q),
                              .k = head_rows_of(args.k),
                              .v = head_rows_of(args.v),
                              .mask = head_rows_of(args.mask),
                              .output = head_rows_of(out.output),
                              .log_sums = static_cast<float*>(out.log_sums.data),
                              .multiplier = folded_scale(args.settings.scale)};
  return with_tensor_kernel(stream, args, [&]<int kDepth, bool kIsMasked>() {
    return launch_tensor_forward<T, kDepth, kIsMasked>(stream, call);
  });
}

}  // namespace halftone::cuda
