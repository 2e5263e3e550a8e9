// Attention forward, by tiles of keys with a running maximum and sum (Milakov and Gimelshein, arXiv:1805.02867; Dao et
// al., arXiv:2205.14135): when a row's maximum grows, what was summed so far is multiplied by e^(old - new).
#include "cuda/attention/entries.h"
#include "cuda/attention/tile.h"

namespace halftone::cuda {
namespace {

struct Forward {
  AttentionShape shape;
  HeadRows q, k, v, mask, output;
  Elements log_sums;  // null data if they are not needed
};

template <class C>
struct ForwardMemory {
  OperandParts<C> parts;
  C weights[kTileQueries][kTileKeys + 1];
  C values[kTileKeys][kTileColumns];
};

// A row's state: the threads of a row hold the same maximum and sum, and a part of the result each.
template <class C>
struct RowState {
  C largest = least_number<C>();
  C sum = 0;
  C result[kColumnsEach] = {};
};

// Cases: a row without a key so far has the maximum -infinity and no weights; a NaN makes the sum NaN.
template <class C>
HALFTONE_DEVICE void take_scores(const Forward& call, int64_t row, int64_t key, C (&scores)[kScoresEach],
                                 C (&weights)[kTileQueries][kTileKeys + 1], RowState<C>& state) {
  C largest = state.largest;
  for (int k = 0; k < kScoresEach; ++k) largest = std::fmax(largest, scores[k]);
  largest = largest_of_row(largest);
  const C shrink = state.largest == least_number<C>() ? C{0} : std::exp(state.largest - largest);
  C sum = 0;
  for (int k = 0; k < kScoresEach; ++k) {
    const int place = tile_first() + k * kRowThreads;
    const C weight = scores[k] == least_number<C>() ? C{0} : std::exp(scores[k] - largest);
    sum += weight;
    weights[tile_row()][place] = weight * dropout_factor<C>(call.shape, row, key + place);
  }
  state.sum = state.sum * shrink + sum_of_row(sum);
  for (int j = 0; j < kColumnsEach; ++j) state.result[j] *= shrink;
  state.largest = largest;
}

// Block: a tile of queries of one head, and kTileColumns columns of its result.
template <class C>
HALFTONE_KERNEL forward_kernel(Forward call, int64_t query_tiles, int64_t column_tiles) {
  auto& memory = *static_cast<ForwardMemory<C>*>(dynamic_shared());
  const AttentionShape& shape = call.shape;
  const int64_t column = blockIdx.x % column_tiles * kTileColumns;
  const int64_t first_query = blockIdx.x / column_tiles % query_tiles * kTileQueries;
  const int64_t number = blockIdx.x / column_tiles / query_tiles;  // of the head, among all batches
  const Head head = {number / shape.heads, number % shape.heads};
  const Head kv_head = {head.batch, head.head / shape.group};
  const int64_t query = first_query + tile_row();
  const int64_t row = number * shape.queries + query;
  const int64_t offset_of_mask = offset_of(shape, call.mask, head);
  const int64_t offset_of_values = offset_of(shape, call.v, kv_head);
  RowPair pair = {.a = call.q,
                  .b = call.k,
                  .offset_a = offset_of(shape, call.q, head),
                  .offset_b = offset_of(shape, call.k, kv_head),
                  .row_a = first_query,
                  .rows_a = shape.queries,
                  .row_b = 0,
                  .rows_b = shape.keys,
                  .depth = shape.depth};
  RowState<C> state;
  for (int64_t key = 0; key < visible_end(shape, first_query); key += kTileKeys) {
    C scores[kScoresEach];
    pair.row_b = key;
    multiply_rows(pair, memory.parts, scores);
    for (int k = 0; k < kScoresEach; ++k) {
      scores[k] =
          masked_score(shape, call.mask, offset_of_mask, query, key + tile_first() + k * kRowThreads, scores[k]);
    }
    take_scores(call, row, key, scores, memory.weights, state);
    add_weighted(memory.weights, call.v, offset_of_values, key, shape.keys, column, shape.value_depth, memory.values,
                 state.result);
  }
  if (query >= shape.queries) return;
  const bool is_empty = state.sum == 0;
  const int64_t out = offset_of(shape, call.output, head);
  for (int j = 0; j < kColumnsEach; ++j) {
    const int64_t at = column + tile_first() + j * kRowThreads;
    if (at < shape.value_depth) {
      store_row<C>(call.output, out, query, at, is_empty ? C{0} : state.result[j] / state.sum);
    }
  }
  if (call.log_sums.data != nullptr && column == 0 && tile_first() == 0) {
    store<C>(call.log_sums, row, is_empty ? static_cast<C>(INFINITY) : state.largest + std::log(state.sum));
  }
}

}  // namespace

Status attention_forward(Stream& stream, const AttentionArgs& args, void*, const AttentionResult& out) noexcept {
  const Forward call = {.shape = attention_shape(args),
                        .q = head_rows_of(args.q),
                        .k = head_rows_of(args.k),
                        .v = head_rows_of(args.v),
                        .mask = head_rows_of(args.mask),
                        .output = head_rows_of(out.output),
                        .log_sums = {out.log_sums.data, out.log_sums.dtype}};
  const int64_t query_tiles = (call.shape.queries + kTileQueries - 1) / kTileQueries;
  const int64_t column_tiles = (call.shape.value_depth + kTileColumns - 1) / kTileColumns;
  const int64_t blocks = call.shape.batches * call.shape.heads * query_tiles * column_tiles;
  if (blocks > INT32_MAX) return Status::failure(Code::kUnsupported, "attention has more than 2^31 - 1 tiles");
  return with_float_type(args.q.dtype, [&]<class C>() {
    const Grid grid = {.blocks = blocks, .threads = kThreads, .shared_bytes = sizeof(ForwardMemory<C>)};
    return launch(stream, grid, forward_kernel<C>, call, query_tiles, column_tiles);
  });
}

}  // namespace halftone::cuda
