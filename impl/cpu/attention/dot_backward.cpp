#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/attention/dot_backward.cpp"
// Attention backward by dot products. P M and S are rounded to BF16. The scale follows the products.
#include <algorithm>

#include "cpu/attention/dot.h"
#include "cpu/attention/places.h"
#include "cpu/attention/plan.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/attention/backward-inl.h"
#include "cpu/attention/dot_products-inl.h"
#include "cpu/attention/rows-inl.h"

#if HWY_TARGET == HWY_AVX3

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu {
namespace HWY_NAMESPACE {
namespace {

class DotBackwardWorker : public BackwardPasses<DotBackwardWorker, float> {
 public:
  using BackwardPasses::BackwardPasses;

  static constexpr bool kScalesQueries = false;

  // D of a block of queries. Its sums have the order of G v^T, so that a row that sees a single key, whose output does
  // not depend on its score, has a gradient of exactly 0.
  void fill_row_products(int64_t batch, int64_t head, int64_t query) {
    const int64_t rows = std::min(scratch_.query_block, sizes_.queries - query);
    const int64_t words = words_of(sizes_.value_depth);
    float* grad = at(scratch_.v_panels);
    float* output = grad + kKeyBlock / 2 * words;
    float* products = call_.row_products + (batch * sizes_.heads + head) * sizes_.queries + query;
    pack_pair_panels(head_of(call_.saved.grad_output, batch, head), query, rows, grad);
    pack_pair_panels(head_of(call_.saved.output, batch, head), query, rows, output);
    for (int64_t row = 0; row < rows; row += kLanes) {
      const int64_t panel = row / kTileColumns * kTileColumns * words + row % kTileColumns;
      float part[kLanes];
      multiply_rows(grad + panel, output + panel, words, part);
      std::copy_n(part, std::min<int64_t>(kLanes, rows - row), products + row);
    }
  }

  void pack_keys(int64_t batch, int64_t kv_head, int64_t key, int64_t count) {
    const View k = head_of(args_.k, batch, kv_head);
    pack_pair_panels(k, key, count, at(scratch_.k_panels));
    pack_row_pairs(k, key, count, at(scratch_.k_rows));
    pack_pair_panels(head_of(args_.v, batch, kv_head), key, count, at(scratch_.v_panels));
  }

  void pack_queries(const ScoreBlock& block) {
    const View q = head_of(args_.q, block.batch, block.head);
    const View grad = head_of(call_.saved.grad_output, block.batch, block.head);
    pack_pair_rows(q, block.query, block.rows, at(scratch_.q_rows));
    pack_row_pairs(q, block.query, block.rows, at(scratch_.q_pairs));
    pack_pair_rows(grad, block.query, block.rows, at(scratch_.grad_rows));
    pack_row_pairs(grad, block.query, block.rows, at(scratch_.grad_pairs));
  }

  // Pairs of the weights P M in every second row of scores, those of the gradients of the scores, S, in every second
  // row of slopes, and pairs along the keys of S in slope_rows.
  void fill_slopes(const ScoreBlock& block, const Visible& visible) {
    const auto product = [&](int64_t left, int64_t right, int64_t depth, int64_t result) {
      multiply_pairs({block.rows, block.columns, as_left(at(left), words_of(depth)), pairs_as_right(at(right), depth),
                      at(result), kScoreStride, false},
                     [&](int64_t, int64_t end, int64_t column) -> DepthRange {
                       return {0, visible.columns_of(end - 1) > column ? words_of(depth) : 0};
                     });
    };
    product(scratch_.q_rows, scratch_.k_panels, sizes_.depth, scratch_.scores);
    product(scratch_.grad_rows, scratch_.v_panels, sizes_.value_depth, scratch_.slopes);
    for (int64_t row = 0; row < block.rows; row += 2) fill_pair(block, row, visible);
  }

  // grad_v [keys, value_depth] += (P M)^T [keys, rows] G, grad_k [keys, depth] += S^T [keys, rows] q, without the scale
  void add_grad_keys(const ScoreBlock& block, const Visible& visible) {
    const auto product = [&](int64_t left, int64_t right, int64_t size, int64_t result) {
      multiply_pairs({block.columns,
                      size,
                      {at(left), 1, 2 * kScoreStride},
                      pairs_as_right(at(right), block.rows),
                      at(result),
                      padded_depth(size),
                      true},
                     [&](int64_t key, int64_t, int64_t) -> DepthRange {
                       const int64_t first = visible.first_row_of(key);
                       return {first / kDotElements, first < block.rows ? words_of(block.rows) : 0};
                     });
    };
    product(scratch_.scores, scratch_.grad_pairs, sizes_.value_depth, scratch_.grad_v);
    product(scratch_.slopes, scratch_.q_pairs, sizes_.depth, scratch_.grad_k);
  }

  // grad_q [rows, depth] += S [rows, keys] k, without the scale
  void add_grad_q(const ScoreBlock& block, const Visible& visible, float* grad_q) {
    multiply_pairs({block.rows,
                    sizes_.depth,
                    {at(scratch_.slope_rows), kPairStride, 1},
                    pairs_as_right(at(scratch_.k_rows), block.columns),
                    grad_q,
                    padded_depth(sizes_.depth),
                    true},
                   [&](int64_t, int64_t end, int64_t) -> DepthRange {
                     return {0, words_of(visible.columns_of(end - 1))};
                   });
  }

 private:
  // Rows `row` and row + 1. After the last row comes one that sees no key.
  void fill_pair(const ScoreBlock& block, int64_t row, const Visible& visible) {
    SlopePair pair = {.rows = {},
                      .scale = static_cast<float>(args_.settings.scale),
                      .scores = at(scratch_.scores) + row * kScoreStride,
                      .slopes = at(scratch_.slopes) + row * kScoreStride,
                      .stride = kScoreStride,
                      .slope_rows = at(scratch_.slope_rows) + row * kPairStride};
    const bool has_mask = args_.mask.data != nullptr;
    for (int64_t i = 0; i < 2 && row + i < block.rows; ++i) {
      pair.rows[i] = row_of(block, row + i, visible.columns_of(row + i), factors_[i]);
      if (has_mask) mask_scores(block, row + i, pair.rows[i].count, pair.scores + i * pair.stride);
    }
    if (has_mask) pair.scale = 1;
    if (row + 1 == block.rows) pair.rows[1].factors = pair.rows[0].factors;
    const int64_t count = std::max(pair.rows[0].count, pair.rows[1].count);
    weigh_slope_pair(pair);
    clear_column_pairs(pair.scores, count, block.columns);
    clear_column_pairs(pair.slopes, count, block.columns);
    for (int i = 0; i < 2; ++i) clear_row_pairs(pair.slope_rows + i * kPairStride, count, block.columns);
  }

  // Cases: a row that sees no key has an infinite log_sum, so all its weights are 0.
  SlopePair::Row row_of(const ScoreBlock& block, int64_t row, int64_t count, float* factors) {
    const int64_t number = row_number(block, row);
    const bool drops = args_.settings.dropout.p > 0;
    if (drops && count > 0) {
      dropout_.draw(number, block.key, count);
      for (int64_t i = 0; i < count; ++i) factors[i] = dropout_.factor<float>(i);
    }
    return {.count = count,
            .log_sum = static_cast<const float*>(call_.saved.log_sums.data)[number],
            .product = call_.row_products[number],
            .factors = drops ? factors : nullptr};
  }

  void mask_scores(const ScoreBlock& block, int64_t row, int64_t count, float* scores) {
    if (count == 0) return;
    multiply_row(scores, count, static_cast<float>(args_.settings.scale));
    mask_row(row_at(head_of(args_.mask, block.batch, block.head), block.query + row, block.key), count, scores);
  }

  // As clear_row_pairs, for words of one key each.
  static void clear_column_pairs(float* words, int64_t count, int64_t columns) {
    const int64_t begin = round_up(count, kPairStep);
    const int64_t end = read_end(count, columns);
    if (begin < end) std::fill(words + begin, words + end, 0.0f);
  }

  float factors_[2][kKeyBlock];  // dropout's
};

}  // namespace
}  // namespace HWY_NAMESPACE

void attend_backward_by_dot(ThreadPool& pool, const AttentionArgs& args, const AttentionSaved& saved, float* workspace,
                            const AttentionGrads& out) {
  HWY_NAMESPACE::run_backward<HWY_NAMESPACE::DotBackwardWorker>(pool, args, saved, Operands::kPairs, workspace, out);
}

}  // namespace halftone::cpu
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET == HWY_AVX3
