// Attention backward on tensor cores, by the formulas of backward.cu. One kernel keeps the rows of grad_q and goes over
// tiles of keys. Another keeps those of grad_k and grad_v, goes over tiles of queries of all heads that share them, and
// computes the scores transposed, so that its weights are the left operand of its sums, too. Every sum has one order.
// Slopes are scaled at the end, as in their own dtype they are less likely to underflow. Device code.
#pragma once

#include "cuda/attention/tensor_entries.h"
#include "cuda/attention/tensor_tile.h"
#include "cuda/base/launch.h"

namespace halftone::cuda {

struct TensorBackward {
  AttentionShape shape;
  HeadRows q, k, v, mask, output, grad_output;
  HeadRows grad_q, grad_k, grad_v;
  const float* log_sums;
  float* dots;
  float multiplier;  // scale * log2(e)
};

inline constexpr int kDotLanes = 16;  // that share a row; 16 chunks are the longest one

// dots[row] = sum(dO O)
template <class T>
HALFTONE_KERNEL tensor_dots_kernel(const __grid_constant__ TensorBackward call) {
  const AttentionShape& shape = call.shape;
  const int64_t rows = shape.batches * shape.heads * shape.queries;
  const int chunk = static_cast<int>(threadIdx.x) % kDotLanes;
  // All lanes of a warp take part in its last step.
  for (int64_t row = first_item() / kDotLanes; row - row % 2 < rows; row += item_step() / kDotLanes) {
    float sum = 0;
    if (row < rows && chunk * kChunk < shape.value_depth) {
      const int64_t number = row / shape.queries;
      const int64_t query = row - number * shape.queries;
      const Head head = {number / shape.heads, number % shape.heads};
      float left[kTile], right[kTile];
      load_tile_of<T>(call.output.elements.data,
                      offset_of(shape, call.output, head) + query * call.output.row_stride + chunk * kChunk, left);
      load_tile_of<T>(call.grad_output.elements.data,
                      offset_of(shape, call.grad_output, head) + query * call.grad_output.row_stride + chunk * kChunk,
                      right);
#pragma unroll
      for (int e = 0; e < kTile; ++e) sum = fmaf(left[e], right[e], sum);
    }
#pragma unroll
    for (int bits = kDotLanes / 2; bits > 0; bits /= 2) sum += __shfl_xor_sync(kAllLanes, sum, bits);
    if (chunk == 0 && row < rows) call.dots[row] = sum;
  }
}

// The place of a score's query among a lane's numbers.
template <bool kRowsAreKeys>
HALFTONE_DEVICE inline int number_of_query(int i, int j, int e) {
  return kRowsAreKeys ? 2 * j + e % 2 : 2 * i + e / 2;
}

// A lane's numbers of queries: those of its rows, or of its columns.
template <int kNumbers>
struct QueryNumbers {
  float log_sums[kNumbers];  // in units of log2
  float dots[kNumbers];
};

// Scores become weights with dropout, and `slopes`, so far dO V^T, become P (M dO V^T - D).
template <bool kRowsAreKeys, bool kIsMasked, int kBlocks, int kColumns, int kNumbers>
HALFTONE_DEVICE inline void compute_slopes(const AttentionShape& shape, float multiplier, const ScoreTile& tile,
                                           int row, const QueryNumbers<kNumbers>& numbers,
                                           float (&scores)[kBlocks][kColumns][4],
                                           float (&slopes)[kBlocks][kColumns][4]) {
  const MatrixPlace lane = place_in_c(lane_number(), 0);
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int number = number_of_query<kRowsAreKeys>(i, j, e);
        const float weight = power_of_two(fmaf(scores[i][j][e], multiplier, -numbers.log_sums[number]));
        float factor = 1;
        if (kIsMasked && shape.drops) {
          const int r = row + 16 * i + lane.row + e / 2 * 8;
          const int c = 8 * j + lane.column + e % 2;
          factor = dropout_factor<float>(shape, tile.first_row + tile.query + (kRowsAreKeys ? c : r),
                                         tile.key + (kRowsAreKeys ? r : c));
        }
        scores[i][j][e] = weight * factor;
        slopes[i][j][e] = weight * (slopes[i][j][e] * factor - numbers.dots[number]);
      }
    }
  }
}

template <int kBlocks, int kColumns>
HALFTONE_DEVICE inline void scale_rows(float (&sums)[kBlocks][kColumns][4], float factor) {
#pragma unroll
  for (int i = 0; i < kBlocks * kColumns * 4; ++i) sums[i / 4 / kColumns][i / 4 % kColumns][i % 4] *= factor;
}

// Block: a tile of queries of one head. Shared memory: q and dO, then two stages of k and v.
template <class T, int kDepth, bool kIsMasked>
HALFTONE_KERNEL __launch_bounds__(kTensorThreads, 2)
    tensor_grad_q_kernel(const __grid_constant__ TensorBackward call, int tiles) {
  constexpr TensorKernel kKernel = {TensorPass::kGradQ, kDepth, kIsMasked};
  constexpr TensorTiles kTiles = tensor_tiles(kKernel);
  constexpr int kRows = tensor_rows(kKernel);
  constexpr uint32_t kTileBytes = rows_bytes(kDepth, kTiles.columns);
  const AttentionShape& shape = call.shape;
  const ScoreRules rules = score_rules(shape);
  const int first = (tiles - 1 - static_cast<int>(blockIdx.x) % tiles) * kRows;
  const int number = static_cast<int>(blockIdx.x) / tiles;
  const Head head = {number / static_cast<int>(shape.heads), number % static_cast<int>(shape.heads)};
  const Head kv_head = {head.batch, static_cast<int>(head.head) / static_cast<int>(shape.group)};
  const GlobalRows k = global_rows(call.k, offset_of(shape, call.k, kv_head), shape.keys, shape.depth);
  const GlobalRows v = global_rows(call.v, offset_of(shape, call.v, kv_head), shape.keys, shape.value_depth);

  const SharedAddress of_q = dynamic_shared_address();
  const SharedAddress of_grad = of_q + rows_bytes(kDepth, kRows);
  SharedAddress stage = of_grad + rows_bytes(kDepth, kRows), next_stage = stage + 2 * kTileBytes;
  const auto copy_stage = [&](int key, SharedAddress to) {
    copy_rows_later<kDepth, kTiles.columns>(to, k, key);
    copy_rows_later<kDepth, kTiles.columns>(to + kTileBytes, v, key);
    commit_copies();
  };
  copy_rows_later<kDepth, kRows>(of_q, global_rows(call.q, offset_of(shape, call.q, head), shape.queries, shape.depth),
                                 first);
  copy_rows_later<kDepth, kRows>(
      of_grad,
      global_rows(call.grad_output, offset_of(shape, call.grad_output, head), shape.queries, shape.value_depth), first);
  copy_stage(0, stage);

  const int warp_row = warp_number() * 16 * kTiles.blocks;
  ScoreTile tile = {.query = first,
                    .key = 0,
                    .mask_offset = kIsMasked ? offset_of(shape, call.mask, head) : 0,
                    .first_row = number * rules.queries};
  QueryNumbers<2 * kTiles.blocks> numbers;
#pragma unroll
  for (int i = 0; i < 2 * kTiles.blocks; ++i) {
    const int query = first + warp_row + 16 * (i / 2) + place_in_c(lane_number(), 2 * (i % 2)).row;
    const bool exists = query < rules.queries;
    numbers.log_sums[i] = exists ? call.log_sums[tile.first_row + query] * kLog2E : 0.0f;
    numbers.dots[i] = exists ? call.dots[tile.first_row + query] : 0.0f;
  }
  float sums[kTiles.blocks][kDepth / 8][4] = {};
  const int end = visible_end_of_rows(rules, first, kRows);
  for (; tile.key < end; tile.key += kTiles.columns) {
    wait_for_copies();
    __syncthreads();  // the tile is written, and the one before is read no more
    if (tile.key + kTiles.columns < end) copy_stage(tile.key + kTiles.columns, next_stage);
    float scores[kTiles.blocks][kTiles.columns / 8][4];
    float slopes[kTiles.blocks][kTiles.columns / 8][4];
    multiply_rows<T, kDepth>(of_q + rows_bytes(kDepth, warp_row), stage, scores);
    if constexpr (kIsMasked) {
      mask_scores<false>(rules, call.mask, call.multiplier, tile, warp_row, scores);
    } else if (has_hidden(rules, tile, kTiles.columns)) {
      hide_scores<false>(rules, tile, warp_row, scores);
    }
    multiply_rows<T, kDepth>(of_grad + rows_bytes(kDepth, warp_row), stage + kTileBytes, slopes);
    compute_slopes<false, kIsMasked>(shape, kIsMasked ? 1.0f : call.multiplier, tile, warp_row, numbers, scores,
                                     slopes);
    add_weighted_rows<T, kDepth>(pack_weights<T>(slopes), stage, sums);
    const SharedAddress read = stage;
    stage = next_stage;
    next_stage = read;
  }
  wait_for_copies();
  __syncthreads();  // no thread still copies to the rows of q
  scale_rows(sums, static_cast<float>(shape.scale));
  write_rows<T, kDepth>(sums, of_q + rows_bytes(kDepth, warp_row),
                        global_rows(call.grad_q, offset_of(shape, call.grad_q, head), shape.queries, shape.depth),
                        first + warp_row);
}

// The queries that see a tile of keys: tiles of all heads that share the keys, one after another.
struct QueryTiles {
  GlobalRows q, grad_output;  // of the first of the heads
  int64_t mask_offset;
  int first_row;  // the number of its first query among all
  int first;      // query of a head, a multiple of the tile
  int per_head;   // tiles
};

HALFTONE_DEVICE inline GlobalRows next_head(const GlobalRows& rows, const HeadRows& of, int heads) {
  return {rows.data + 2 * heads * of.head_stride, rows.stride, rows.rows, rows.chunks};
}

// Causal: query i sees the keys up to i + offset, so the queries before first_key - offset see none of the tile.
template <int kQueries>
HALFTONE_DEVICE inline QueryTiles query_tiles(const TensorBackward& call, const ScoreRules& rules, const Head& kv_head,
                                              int first_key) {
  const AttentionShape& shape = call.shape;
  const Head head = {kv_head.batch, kv_head.head * shape.group};
  const int unseeing = rules.is_causal && first_key > rules.causal_offset ? first_key - rules.causal_offset : 0;
  const int first = unseeing / kQueries * kQueries;
  const int64_t grad_offset = offset_of(shape, call.grad_output, head);
  return {.q = global_rows(call.q, offset_of(shape, call.q, head), shape.queries, shape.depth),
          .grad_output = global_rows(call.grad_output, grad_offset, shape.queries, shape.value_depth),
          .mask_offset = offset_of(shape, call.mask, head),
          .first_row = static_cast<int>((head.batch * shape.heads + head.head) * shape.queries),
          .first = first,
          .per_head = first < rules.queries ? (rules.queries - first - 1) / kQueries + 1 : 0};
}

// Begins to copy tile i: rows of q and dO, then log sums and dots.
template <int kDepth, int kQueries>
HALFTONE_DEVICE inline void copy_queries_later(const TensorBackward& call, const QueryTiles& tiles, int i,
                                               SharedAddress to) {
  const int member = i / tiles.per_head;
  const int query = tiles.first + i % tiles.per_head * kQueries;
  copy_rows_later<kDepth, kQueries>(to, next_head(tiles.q, call.q, member), query);
  to += rows_bytes(kDepth, kQueries);
  copy_rows_later<kDepth, kQueries>(to, next_head(tiles.grad_output, call.grad_output, member), query);
  to += rows_bytes(kDepth, kQueries);
  const int t = static_cast<int>(threadIdx.x);
  if (t < 2 * kQueries) {
    const int row = query + t % kQueries;
    const bool exists = row < tiles.q.rows;
    const int number = exists ? tiles.first_row + member * tiles.q.rows + row : 0;
    copy_4_later(to + 4 * t, (t < kQueries ? call.log_sums : call.dots) + number, exists);
  }
  commit_copies();
}

// The numbers of the lane's columns, from what copy_queries_later brought.
template <int kQueries>
HALFTONE_DEVICE inline QueryNumbers<kQueries / 4> load_query_numbers(SharedAddress from) {
  QueryNumbers<kQueries / 4> numbers;
  from += 4 * place_in_c(lane_number(), 0).column;
#pragma unroll
  for (int j = 0; j < kQueries / 8; ++j) {
    const float2 log_sums = load_shared_pair(from + 4 * 8 * j);
    const float2 dots = load_shared_pair(from + 4 * (kQueries + 8 * j));
    numbers.log_sums[2 * j] = log_sums.x * kLog2E;
    numbers.log_sums[2 * j + 1] = log_sums.y * kLog2E;
    numbers.dots[2 * j] = dots.x;
    numbers.dots[2 * j + 1] = dots.y;
  }
  return numbers;
}

// Block: a tile of keys of one head of k and v. Shared memory: k and v, then two stages of q, dO, log sums and dots.
template <class T, int kDepth, bool kIsMasked>
HALFTONE_KERNEL __launch_bounds__(kTensorThreads, 2)
    tensor_grad_keys_kernel(const __grid_constant__ TensorBackward call, int tiles) {
  constexpr TensorKernel kKernel = {TensorPass::kGradKeys, kDepth, kIsMasked};
  constexpr TensorTiles kTiles = tensor_tiles(kKernel);
  constexpr int kRows = tensor_rows(kKernel);
  constexpr uint32_t kTileBytes = rows_bytes(kDepth, kTiles.columns);
  constexpr uint32_t kStageBytes = 2 * kTileBytes + 2 * sizeof(float) * kTiles.columns;
  const AttentionShape& shape = call.shape;
  const ScoreRules rules = score_rules(shape);
  const int first = static_cast<int>(blockIdx.x) % tiles * kRows;  // with a causal mask the first keys have most work
  const int number = static_cast<int>(blockIdx.x) / tiles;
  const int kv_heads = static_cast<int>(shape.heads) / static_cast<int>(shape.group);
  const Head kv_head = {number / kv_heads, number % kv_heads};
  const QueryTiles queries = query_tiles<kTiles.columns>(call, rules, kv_head, first);
  const int end = queries.per_head * static_cast<int>(shape.group);

  const SharedAddress of_k = dynamic_shared_address();
  const SharedAddress of_v = of_k + rows_bytes(kDepth, kRows);
  SharedAddress stage = of_v + rows_bytes(kDepth, kRows), next_stage = stage + kStageBytes;
  copy_rows_later<kDepth, kRows>(of_k, global_rows(call.k, offset_of(shape, call.k, kv_head), shape.keys, shape.depth),
                                 first);
  copy_rows_later<kDepth, kRows>(
      of_v, global_rows(call.v, offset_of(shape, call.v, kv_head), shape.keys, shape.value_depth), first);
  commit_copies();
  if (end > 0) copy_queries_later<kDepth, kTiles.columns>(call, queries, 0, stage);

  const int warp_row = warp_number() * 16 * kTiles.blocks;
  float of_keys[kTiles.blocks][kDepth / 8][4] = {};
  float of_values[kTiles.blocks][kDepth / 8][4] = {};
  for (int i = 0; i < end; ++i) {
    wait_for_copies();
    __syncthreads();  // the tile is written, and the one before is read no more
    if (i + 1 < end) copy_queries_later<kDepth, kTiles.columns>(call, queries, i + 1, next_stage);
    const int member = i / queries.per_head;
    const ScoreTile tile = {.query = queries.first + i % queries.per_head * kTiles.columns,
                            .key = first,
                            .mask_offset = queries.mask_offset + member * call.mask.head_stride,
                            .first_row = queries.first_row + member * rules.queries};
    float scores[kTiles.blocks][kTiles.columns / 8][4];
    float slopes[kTiles.blocks][kTiles.columns / 8][4];
    multiply_rows<T, kDepth>(of_k + rows_bytes(kDepth, warp_row), stage, scores);
    if constexpr (kIsMasked) {
      mask_scores<true>(rules, call.mask, call.multiplier, tile, warp_row, scores);
    } else if (has_hidden(rules, tile, kRows)) {
      hide_scores<true>(rules, tile, warp_row, scores);
    }
    multiply_rows<T, kDepth>(of_v + rows_bytes(kDepth, warp_row), stage + kTileBytes, slopes);
    compute_slopes<true, kIsMasked>(shape, kIsMasked ? 1.0f : call.multiplier, tile, warp_row,
                                    load_query_numbers<kTiles.columns>(stage + 2 * kTileBytes), scores, slopes);
    add_weighted_rows<T, kDepth>(pack_weights<T>(scores), stage + kTileBytes, of_values);
    add_weighted_rows<T, kDepth>(pack_weights<T>(slopes), stage, of_keys);
    const SharedAddress read = stage;
    stage = next_stage;
    next_stage = read;
  }
  wait_for_copies();
  __syncthreads();  // no thread still copies to the rows of k and v
  scale_rows(of_keys, static_cast<float>(shape.scale));
  write_rows<T, kDepth>(of_keys, of_k + rows_bytes(kDepth, warp_row),
                        global_rows(call.grad_k, offset_of(shape, call.grad_k, kv_head), shape.keys, shape.depth),
                        first + warp_row);
  write_rows<T, kDepth>(of_values, of_v + rows_bytes(kDepth, warp_row),
                        global_rows(call.grad_v, offset_of(shape, call.grad_v, kv_head), shape.keys, shape.value_depth),
                        first + warp_row);
}

template <class T, int kDepth, bool kIsMasked>
Status launch_tensor_backward(Stream& stream, const TensorBackward& call) noexcept {
  constexpr TensorKernel kOfQ = {TensorPass::kGradQ, kDepth, kIsMasked};
  constexpr TensorKernel kOfKeys = {TensorPass::kGradKeys, kDepth, kIsMasked};
  const AttentionShape& shape = call.shape;
  const int64_t heads = shape.batches * shape.heads;
  const int64_t kv_heads = heads / shape.group;
  const int64_t q_blocks = tensor_blocks(kOfQ, shape.queries, heads);
  const int64_t key_blocks = tensor_blocks(kOfKeys, shape.keys, kv_heads);
  if (q_blocks > INT32_MAX || key_blocks > INT32_MAX) return too_many_tiles();
  const int64_t rows = heads * shape.queries;
  Status status = launch(stream, grid_for_items(device_of(stream), rows * kDotLanes), tensor_dots_kernel<T>, call);
  if (status.ok() && call.grad_q.elements.data != nullptr) {
    status = launch(stream, {.blocks = q_blocks, .threads = kTensorThreads, .shared_bytes = tensor_shared_bytes(kOfQ)},
                    tensor_grad_q_kernel<T, kDepth, kIsMasked>, call, static_cast<int>(q_blocks / heads));
  }
  if (!status.ok() || call.grad_k.elements.data == nullptr) return status;
  return launch(stream, {.blocks = key_blocks, .threads = kTensorThreads, .shared_bytes = tensor_shared_bytes(kOfKeys)},
                tensor_grad_keys_kernel<T, kDepth, kIsMasked>, call, static_cast<int>(key_blocks / kv_heads));
}

template <class T>
Status tensor_backward(Stream& stream, const AttentionArgs& args, const AttentionSaved& saved, float* dots,
                       const AttentionGrads& out) noexcept {
  const TensorBackward call = {.shape = attention_shape(args),
                               .q = head_rows_of(args.q),
                               .k = head_rows_of(args.k),
                               .v = head_rows_of(args.v),
                               .mask = head_rows_of(args.mask),
                               .output = head_rows_of(saved.output),
                               .grad_output = head_rows_of(saved.grad_output),
                               .grad_q = head_rows_of(out.q),
                               .grad_k = head_rows_of(out.k),
                               .grad_v = head_rows_of(out.v),
                               .log_sums = static_cast<const float*>(saved.log_sums.data),
                               .dots = dots,
                               .multiplier = folded_scale(args.settings.scale)};
  return with_tensor_kernel(stream, args, [&]<int kDepth, bool kIsMasked>() {
    return launch_tensor_backward<T, kDepth, kIsMasked>(stream, call);
  });
}

}  // namespace halftone::cuda
