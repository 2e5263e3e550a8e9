#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/attention/dot_forward.cpp"
// Attention forward by dot products. The scale follows the first product, since q times the scale may not fit BF16.
#include <algorithm>

#include "cpu/attention/dot.h"
#include "cpu/attention/places.h"
#include "cpu/attention/plan.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/attention/dot_products-inl.h"
#include "cpu/attention/forward-inl.h"
#include "cpu/attention/rows-inl.h"

#if HWY_TARGET == HWY_AVX3

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu {
namespace HWY_NAMESPACE {
namespace {

class DotForwardBlock : public ForwardRows<float> {
 public:
  using ForwardRows<float>::ForwardRows;

  void pack_queries(const ScoreBlock& block) {
    pack_pair_rows(head_of(args_.q, block.batch, block.head), block.query, block.rows, at(scratch_.q_rows));
  }

  void add_keys(ScoreBlock block, const Visible& visible) {
    block.columns = visible.columns_of(block.rows - 1);
    const int64_t kv_head = block.head / sizes_.group;
    pack_pair_panels(head_of(args_.k, block.batch, kv_head), block.key, block.columns, at(scratch_.k_panels));
    pack_row_pairs(head_of(args_.v, block.batch, kv_head), block.key, block.columns, at(scratch_.v_rows));
    // scores [rows, keys] = q [rows, depth] k^T [depth, keys]
    multiply_pairs({block.rows, block.columns, as_left(at(scratch_.q_rows), words_of(sizes_.depth)),
                    pairs_as_right(at(scratch_.k_panels), sizes_.depth), at(scratch_.scores), kScoreStride, false},
                   [&](int64_t, int64_t end, int64_t column) -> DepthRange {
                     return {0, visible.columns_of(end - 1) > column ? words_of(sizes_.depth) : 0};
                   });
    for (int64_t r = 0; r < block.rows; ++r) weigh_row(block, r, visible.columns_of(r));
    // output [rows, value_depth] += weights [rows, keys] v [keys, value_depth]
    multiply_pairs({block.rows, sizes_.value_depth, scores_as_left(at(scratch_.scores)),
                    pairs_as_right(at(scratch_.v_rows), block.columns), at(scratch_.output),
                    padded_depth(sizes_.value_depth), true},
                   [&](int64_t, int64_t end, int64_t) -> DepthRange {
                     return {0, words_of(visible.columns_of(end - 1))};
                   });
  }

 private:
  // Makes pairs of weights of a row's scores.
  void weigh_row(const ScoreBlock& block, int64_t row, int64_t count) {
    float* scores = at(scratch_.scores) + row * kScoreStride;
    if (count > 0) {
      float scale = static_cast<float>(args_.settings.scale);
      // Without a mask and with a positive scale the largest product gives the largest score.
      if (args_.mask.data != nullptr || scale <= 0) {
        multiply_row(scores, count, scale);
        mask_scores(block, row, count, scores);
        scale = 1;
      }
      weigh_scores(block, row, count, scale, raise_largest(row, largest_of(scores, count) * scale));
    }
    clear_row_pairs(scores, count, block.columns);
  }

  void weigh_scores(const ScoreBlock& block, int64_t row, int64_t count, float scale, float shift) {
    float* scores = at(scratch_.scores) + row * kScoreStride;
    if (args_.settings.dropout.p == 0) return add_sum(row, weigh_into_pairs(scores, count, scale, shift));
    if (scale != 1) multiply_row(scores, count, scale);
    add_sum(row, exponentiate(scores, count, shift));
    drop_row(block, row, count, scores);
    round_into_pairs(scores, count);
  }
};

}  // namespace
}  // namespace HWY_NAMESPACE

void attend_by_dot(ThreadPool& pool, const AttentionArgs& args, float* workspace, const AttentionResult& out) {
  HWY_NAMESPACE::run_forward<HWY_NAMESPACE::DotForwardBlock>(pool, args, Operands::kPairs, workspace, out);
}

}  // namespace halftone::cpu
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET == HWY_AVX3
