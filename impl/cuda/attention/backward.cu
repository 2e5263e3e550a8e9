// Attention backward. With weights P = e^(score - log sum), the factor M of dropout (0 or 1 / (1 - p)), output O and
// its gradient dO, for each row:
//   D = sum(dO O),  dS = P (M (dO V^T) - D) scale,  dQ = dS K,  dK = dS^T Q,  dV = (P M)^T dO
// One kernel goes over the keys for tiles of queries and writes dQ. Another goes over the queries, of all heads that
// share a head of k and v, for tiles of keys, and writes dK and dV. A third, run only for a mask that needs a gradient,
// goes over the heads, and over the queries and keys, that share an element of the mask. So every sum has one order.
#include "cuda/attention/entries.h"
#include "cuda/attention/tile.h"

namespace halftone::cuda {
namespace {

struct Backward {
  AttentionShape shape;
  HeadRows q, k, v, mask, output, grad_output;
  Elements log_sums;
  HeadRows grad_q, grad_k, grad_v, grad_mask;
};

template <class C>
struct BackwardMemory {
  OperandParts<C> parts;
  C slopes[kTileQueries][kTileKeys + 1];
  C weights[kTileQueries][kTileKeys + 1];
  C values[kTileKeys][kTileColumns];
};

// A head, its head of k and v, and the places of both.
struct HeadPlaces {
  Head head, kv_head;
  int64_t q, k, v, mask, output, grad_output;
};

HALFTONE_DEVICE HeadPlaces places_of_head(const Backward& call, const Head& head) {
  const Head kv_head = {head.batch, head.head / call.shape.group};
  return {.head = head,
          .kv_head = kv_head,
          .q = offset_of(call.shape, call.q, head),
          .k = offset_of(call.shape, call.k, kv_head),
          .v = offset_of(call.shape, call.v, kv_head),
          .mask = offset_of(call.shape, call.mask, head),
          .output = offset_of(call.shape, call.output, head),
          .grad_output = offset_of(call.shape, call.grad_output, head)};
}

// dots[row] = sum(dO O). One warp for each row.
template <class C>
HALFTONE_KERNEL dots_kernel(Backward call, C* dots) {
  const AttentionShape& shape = call.shape;
  const int64_t rows = shape.batches * shape.heads * shape.queries;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int64_t row = first_item() / kWarp; row < rows; row += item_step() / kWarp) {
    const int64_t number = row / shape.queries;
    const Head head = {number / shape.heads, number % shape.heads};
    const int64_t output = offset_of(shape, call.output, head);
    const int64_t grad = offset_of(shape, call.grad_output, head);
    C sum = 0;
    for (int64_t column = lane; column < shape.value_depth; column += kWarp) {
      sum += load_row<C>(call.grad_output, grad, row % shape.queries, column) *
             load_row<C>(call.output, output, row % shape.queries, column);
    }
    for (int bits = kWarp / 2; bits > 0; bits /= 2) sum += __shfl_xor_sync(kAllLanes, sum, bits);
    if (lane == 0) dots[row] = sum;
  }
}

// The weights with dropout, and the slopes of the scores, for a tile of queries and keys.
template <class C>
HALFTONE_DEVICE void compute_slopes(const Backward& call, const HeadPlaces& at, const C* dots, int64_t first_query,
                                    int64_t first_key, C slope_scale, BackwardMemory<C>& memory) {
  const AttentionShape& shape = call.shape;
  RowPair pair = {.a = call.q,
                  .b = call.k,
                  .offset_a = at.q,
                  .offset_b = at.k,
                  .row_a = first_query,
                  .rows_a = shape.queries,
                  .row_b = first_key,
                  .rows_b = shape.keys,
                  .depth = shape.depth};
  C scores[kScoresEach];
  multiply_rows(pair, memory.parts, scores);
  pair.a = call.grad_output;
  pair.b = call.v;
  pair.offset_a = at.grad_output;
  pair.offset_b = at.v;
  pair.depth = shape.value_depth;
  C of_weights[kScoresEach];
  multiply_rows(pair, memory.parts, of_weights);
  const int64_t query = first_query + tile_row();
  const int64_t row = (at.head.batch * shape.heads + at.head.head) * shape.queries + query;
  const C log_sum = query < shape.queries ? load<C>(call.log_sums, row) : C{0};
  const C dot = query < shape.queries ? dots[row] : C{0};
  for (int k = 0; k < kScoresEach; ++k) {
    const int place = tile_first() + k * kRowThreads;
    const C score = masked_score(shape, call.mask, at.mask, query, first_key + place, scores[k]);
    const C weight = score == least_number<C>() ? C{0} : std::exp(score - log_sum);
    const C factor = dropout_factor<C>(shape, row, first_key + place);
    memory.weights[tile_row()][place] = weight * factor;
    memory.slopes[tile_row()][place] = weight * (factor * of_weights[k] - dot) * slope_scale;
  }
}

template <class C>
HALFTONE_DEVICE void store_columns(const HeadRows& to, int64_t offset, int64_t row, int64_t column, int64_t columns,
                                   const C (&values)[kColumnsEach]) {
  for (int j = 0; j < kColumnsEach; ++j) {
    const int64_t at = column + tile_first() + j * kRowThreads;
    if (at < columns) store_row<C>(to, offset, row, at, values[j]);
  }
}

// Block: a tile of queries of one head, and kTileColumns columns of its gradient.
template <class C>
HALFTONE_KERNEL grad_q_kernel(Backward call, const C* dots, int64_t query_tiles, int64_t column_tiles) {
  auto& memory = *static_cast<BackwardMemory<C>*>(dynamic_shared());
  const AttentionShape& shape = call.shape;
  const int64_t column = blockIdx.x % column_tiles * kTileColumns;
  const int64_t first_query = blockIdx.x / column_tiles % query_tiles * kTileQueries;
  const int64_t number = blockIdx.x / column_tiles / query_tiles;
  const HeadPlaces at = places_of_head(call, {number / shape.heads, number % shape.heads});
  C sums[kColumnsEach] = {};
  for (int64_t key = 0; key < visible_end(shape, first_query); key += kTileKeys) {
    compute_slopes(call, at, dots, first_query, key, static_cast<C>(shape.scale), memory);
    add_weighted(memory.slopes, call.k, at.k, key, shape.keys, column, shape.depth, memory.values, sums);
    __syncthreads();  // the slopes are overwritten next
  }
  const int64_t query = first_query + tile_row();
  if (query >= shape.queries) return;
  store_columns(call.grad_q, offset_of(shape, call.grad_q, at.head), query, column, shape.depth, sums);
}

template <class C>
HALFTONE_DEVICE void transpose(C (&tile)[kTileQueries][kTileKeys + 1]) {
  static_assert(kTileQueries == kTileKeys);
  __syncthreads();
  for (int t = static_cast<int>(threadIdx.x); t < kTileQueries * kTileKeys; t += kThreads) {
    const int row = t / kTileKeys;
    const int column = t % kTileKeys;
    if (row >= column) continue;
    const C above = tile[row][column];
    tile[row][column] = tile[column][row];
    tile[column][row] = above;
  }
  __syncthreads();
}

// Block: a tile of keys of one head of k and v, and kTileColumns columns of both gradients.
template <class C>
HALFTONE_KERNEL grad_kv_kernel(Backward call, const C* dots, int64_t key_tiles, int64_t column_tiles) {
  auto& memory = *static_cast<BackwardMemory<C>*>(dynamic_shared());
  const AttentionShape& shape = call.shape;
  const int64_t column = blockIdx.x % column_tiles * kTileColumns;
  const int64_t first_key = blockIdx.x / column_tiles % key_tiles * kTileKeys;
  const int64_t number = blockIdx.x / column_tiles / key_tiles;
  const int64_t kv_heads = shape.heads / shape.group;
  const Head kv_head = {number / kv_heads, number % kv_heads};
  C of_keys[kColumnsEach] = {};
  C of_values[kColumnsEach] = {};
  for (int64_t member = 0; member < shape.group; ++member) {
    const HeadPlaces at = places_of_head(call, {kv_head.batch, kv_head.head * shape.group + member});
    for (int64_t query = 0; query < shape.queries; query += kTileQueries) {
      if (visible_end(shape, query) <= first_key) continue;  // no query of the tile sees these keys
      compute_slopes(call, at, dots, query, first_key, static_cast<C>(shape.scale), memory);
      transpose(memory.slopes);
      transpose(memory.weights);
      add_weighted(memory.slopes, call.q, at.q, query, shape.queries, column, shape.depth, memory.values, of_keys);
      add_weighted(memory.weights, call.grad_output, at.grad_output, query, shape.queries, column, shape.value_depth,
                   memory.values, of_values);
      __syncthreads();  // slopes and weights are overwritten next
    }
  }
  const int64_t key = first_key + tile_row();
  if (key >= shape.keys) return;
  store_columns(call.grad_k, offset_of(shape, call.grad_k, kv_head), key, column, shape.depth, of_keys);
  store_columns(call.grad_v, offset_of(shape, call.grad_v, kv_head), key, column, shape.value_depth, of_values);
}

// The mask's gradient in tiles; one tile has all queries, or all keys, where the mask is repeated over them.
struct MaskTiles {
  int64_t groups = 1;   // of heads that share elements of the mask
  int64_t members = 1;  // of a group
  bool sums_queries = false, sums_keys = false;
  int64_t query_tiles = 1, key_tiles = 1;
};

// The heads of a group differ in dimensions of stride 0.
HALFTONE_DEVICE Head head_of_group(const AttentionShape& shape, const HeadRows& mask, int64_t group, int64_t member) {
  const auto take = [&](int64_t stride, int64_t size) {
    int64_t& rest = stride == 0 ? member : group;
    const int64_t index = rest % size;
    rest /= size;
    return index;
  };
  Head head = {0, take(mask.head_stride, shape.heads)};
  int64_t step = 1;
  for (int d = shape.batch_dims - 1; d >= 0; --d) {
    head.batch += take(mask.batch_strides[d], shape.batch_sizes[d]) * step;
    step *= shape.batch_sizes[d];
  }
  return head;
}

template <class C>
struct MaskMemory {
  BackwardMemory<C> backward;
  double sums[kTileQueries][kTileKeys + 1];
};

// Block: a tile of the mask's gradient.
template <class C>
HALFTONE_KERNEL grad_mask_kernel(Backward call, const C* dots, MaskTiles tiles) {
  auto& memory = *static_cast<MaskMemory<C>*>(dynamic_shared());
  const AttentionShape& shape = call.shape;
  const int64_t first_key = blockIdx.x % tiles.key_tiles * kTileKeys;
  const int64_t first_query = blockIdx.x / tiles.key_tiles % tiles.query_tiles * kTileQueries;
  const int64_t group = blockIdx.x / tiles.key_tiles / tiles.query_tiles;
  const int64_t end_query = tiles.sums_queries ? shape.queries : first_query + 1;
  double sums[kScoresEach] = {};
  for (int64_t member = 0; member < tiles.members; ++member) {
    const HeadPlaces at = places_of_head(call, head_of_group(shape, call.grad_mask, group, member));
    for (int64_t query = first_query; query < end_query; query += kTileQueries) {
      const int64_t seen = visible_end(shape, query);
      const int64_t end_key = tiles.sums_keys || seen <= first_key ? seen : first_key + 1;
      for (int64_t key = first_key; key < end_key; key += kTileKeys) {
        compute_slopes(call, at, dots, query, key, C{1}, memory.backward);
        for (int k = 0; k < kScoresEach; ++k) {
          sums[k] += static_cast<double>(memory.backward.slopes[tile_row()][tile_first() + k * kRowThreads]);
        }
      }
    }
  }
  for (int k = 0; k < kScoresEach; ++k) memory.sums[tile_row()][tile_first() + k * kRowThreads] = sums[k];
  __syncthreads();
  const int rows = tiles.sums_queries ? 1 : kTileQueries;
  const int columns = tiles.sums_keys ? 1 : kTileKeys;
  const int64_t offset = offset_of(shape, call.grad_mask, head_of_group(shape, call.grad_mask, group, 0));
  for (int t = static_cast<int>(threadIdx.x); t < rows * columns; t += kThreads) {
    double sum = 0;
    for (int row = t / columns; row < kTileQueries; row += rows) {
      for (int column = t % columns; column < kTileKeys; column += columns) sum += memory.sums[row][column];
    }
    const int64_t query = first_query + t / columns;
    const int64_t key = first_key + t % columns;
    if (query >= shape.queries || key >= shape.keys) continue;
    store_row<C>(call.grad_mask, offset, query, key, static_cast<C>(sum));
  }
}

int64_t tiles(int64_t count, int64_t size) { return (count + size - 1) / size; }

template <class C>
Status run(Stream& stream, const Backward& call, C* dots, bool wants_q, bool wants_kv) noexcept {
  const AttentionShape& shape = call.shape;
  const int64_t heads = shape.batches * shape.heads;
  Status status =
      launch(stream, grid_for_items(device_of(stream), heads * shape.queries * kWarp), dots_kernel<C>, call, dots);
  const int64_t query_tiles = tiles(shape.queries, kTileQueries);
  const int64_t key_tiles = tiles(shape.keys, kTileKeys);
  const int64_t depth_tiles = tiles(shape.depth, kTileColumns);
  const int64_t widest_tiles = tiles(std::max(shape.depth, shape.value_depth), kTileColumns);
  Grid grid = {
      .blocks = heads * query_tiles * depth_tiles, .threads = kThreads, .shared_bytes = sizeof(BackwardMemory<C>)};
  if (status.ok() && wants_q) {
    status = launch(stream, grid, grad_q_kernel<C>, call, static_cast<const C*>(dots), query_tiles, depth_tiles);
  }
  grid.blocks = heads / shape.group * key_tiles * widest_tiles;
  if (!status.ok() || !wants_kv) return status;
  return launch(stream, grid, grad_kv_kernel<C>, call, static_cast<const C*>(dots), key_tiles, widest_tiles);
}

MaskTiles mask_tiles(const AttentionShape& shape, const View& out) {
  const int last = out.rank() - 1;
  MaskTiles result = {.sums_queries = out.strides[last - 1] == 0, .sums_keys = out.strides[last] == 0};
  for (int d = 0; d < last - 1; ++d) (out.strides[d] == 0 ? result.members : result.groups) *= out.shape[d];
  if (!result.sums_queries) result.query_tiles = tiles(shape.queries, kTileQueries);
  if (!result.sums_keys) result.key_tiles = tiles(shape.keys, kTileKeys);
  return result;
}

template <class C>
Status run_mask(Stream& stream, const Backward& call, C* dots, const MaskTiles& tiles) noexcept {
  const AttentionShape& shape = call.shape;
  const int64_t rows = shape.batches * shape.heads * shape.queries;
  const Status status = launch(stream, grid_for_items(device_of(stream), rows * kWarp), dots_kernel<C>, call, dots);
  if (!status.ok()) return status;
  const Grid grid = {.blocks = tiles.groups * tiles.query_tiles * tiles.key_tiles,
                     .threads = kThreads,
                     .shared_bytes = sizeof(MaskMemory<C>)};
  return launch(stream, grid, grad_mask_kernel<C>, call, static_cast<const C*>(dots), tiles);
}

// Without gradients to write.
Backward call_of(const AttentionArgs& args, const AttentionSaved& saved) {
  return {.shape = attention_shape(args),
          .q = head_rows_of(args.q),
          .k = head_rows_of(args.k),
          .v = head_rows_of(args.v),
          .mask = head_rows_of(args.mask),
          .output = head_rows_of(saved.output),
          .grad_output = head_rows_of(saved.grad_output),
          .log_sums = {saved.log_sums.data, saved.log_sums.dtype},
          .grad_q = {},
          .grad_k = {},
          .grad_v = {},
          .grad_mask = {}};
}

}  // namespace

Status attention_backward(Stream& stream, const AttentionArgs& args, const AttentionSaved& saved, void* workspace,
                          const AttentionGrads& out) noexcept {
  Backward call = call_of(args, saved);
  call.grad_q = head_rows_of(out.q);
  call.grad_k = head_rows_of(out.k);
  call.grad_v = head_rows_of(out.v);
  return with_float_type(args.q.dtype, [&]<class C>() {
    return run(stream, call, static_cast<C*>(workspace), out.q.data != nullptr, out.k.data != nullptr);
  });
}

Status attention_backward_of_mask(Stream& stream, const AttentionArgs& args, const AttentionSaved& saved,
                                  void* workspace, const View& out) noexcept {
  Backward call = call_of(args, saved);
  call.grad_mask = head_rows_of(out);
  return with_float_type(args.q.dtype, [&]<class C>() {
    return run_mask(stream, call, static_cast<C*>(workspace), mask_tiles(call.shape, out));
  });
}

}  // namespace halftone::cuda
