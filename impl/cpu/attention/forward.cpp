#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/attention/forward.cpp"
// Attention forward in the compute type; forward-inl.h has the algorithm.
#include <algorithm>

#include "cpu/attention/dot.h"
#include "cpu/attention/entries.h"
#include "cpu/attention/places.h"
#include "cpu/attention/plan.h"
#include "cpu/device.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/attention/forward-inl.h"
#include "cpu/attention/products-inl.h"
#include "cpu/attention/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

template <class C>
class ForwardBlock : public ForwardRows<C> {
 public:
  using ForwardRows<C>::ForwardRows;

  void pack_queries(const ScoreBlock& block) {
    C* q = at(scratch_.q_rows);
    pack_rows(head_of(args_.q, block.batch, block.head), block.query, block.rows, q);
    for (int64_t r = 0; r < block.rows; ++r) {
      multiply_row(q + r * padded_depth(sizes_.depth), sizes_.depth, static_cast<C>(args_.settings.scale));
    }
  }

  void add_keys(const ScoreBlock& block, const Visible& visible) {
    const int64_t kv_head = block.head / sizes_.group;
    pack_panels(head_of(args_.k, block.batch, kv_head), block.key, block.columns, at(scratch_.k_panels));
    pack_rows(head_of(args_.v, block.batch, kv_head), block.key, block.columns, at(scratch_.v_rows));
    // scores [rows, keys] = q [rows, depth] k^T [depth, keys]
    multiply_block<C>({block.rows, block.columns, as_left(at(scratch_.q_rows), sizes_.depth),
                       panels_as_right(at(scratch_.k_panels), sizes_.depth), at(scratch_.scores), kScoreStride, false},
                      [&](int64_t, int64_t end, int64_t column) -> DepthRange {
                        return {0, visible.columns_of(end - 1) > column ? sizes_.depth : 0};
                      });
    for (int64_t r = 0; r < block.rows; ++r) weigh_row(block, r, visible.columns_of(r));
    // output [rows, value_depth] += weights [rows, keys] v [keys, value_depth]
    multiply_block<C>({block.rows, sizes_.value_depth, scores_as_left(at(scratch_.scores)),
                       as_right(at(scratch_.v_rows), sizes_.value_depth), at(scratch_.output),
                       padded_depth(sizes_.value_depth), true},
                      [&](int64_t, int64_t end, int64_t) -> DepthRange {
                        return {0, visible.columns_of(end - 1)};
                      });
  }

 private:
  using ForwardRows<C>::args_;
  using ForwardRows<C>::at;
  using ForwardRows<C>::scratch_;
  using ForwardRows<C>::sizes_;

  // Makes weights of a row's scores.
  void weigh_row(const ScoreBlock& block, int64_t row, int64_t count) {
    C* scores = at(scratch_.scores) + row * kScoreStride;
    if (count > 0) {
      this->mask_scores(block, row, count, scores);
      const C shift = this->raise_largest(row, largest_of(scores, count));
      this->add_sum(row, exponentiate(scores, count, shift));
      this->drop_row(block, row, count, scores);
    }
    std::fill(scores + count, scores + block.columns, C{0});
  }
};

void attend(ThreadPool& pool, const AttentionArgs& args, void* workspace, const AttentionResult& out) {
  if (args.q.dtype == DType::kF64) {
    return run_forward<ForwardBlock<double>>(pool, args, Operands::kElements, static_cast<double*>(workspace), out);
  }
#if HWY_TARGET == HWY_AVX3
  if (attends_by_dot(args)) return attend_by_dot(pool, args, static_cast<float*>(workspace), out);
#endif
  run_forward<ForwardBlock<float>>(pool, args, Operands::kElements, static_cast<float*>(workspace), out);
}

}  // namespace
}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(attend);

size_t attention_forward_workspace(Stream& stream, const AttentionArgs& args) noexcept {
  const AttentionSizes sizes(args);
  const int workers = sizes.is_small() ? 1 : pool_of(stream).width();
  int64_t size = ForwardScratch(sizes).size;
  if (attends_by_dot(args)) size = std::max(size, ForwardScratch(sizes, Operands::kPairs).size);
  return static_cast<size_t>(workers * size) * (args.q.dtype == DType::kF64 ? sizeof(double) : sizeof(float));
}

Status attention_forward(Stream& stream, const AttentionArgs& args, void* workspace,
                         const AttentionResult& out) noexcept {
  HWY_DYNAMIC_DISPATCH(attend)(pool_of(stream), args, workspace, out);
  return {};
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
