#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/attention/backward.cpp"
// Attention backward in the compute type; backward-inl.h has the algorithm.
#include <algorithm>
#include <cmath>

#include "cpu/attention/dot.h"
#include "cpu/attention/entries.h"
#include "cpu/attention/places.h"
#include "cpu/attention/plan.h"
#include "cpu/device.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/attention/backward-inl.h"
#include "cpu/attention/backward_of_mask-inl.h"
#include "cpu/attention/products-inl.h"
#include "cpu/attention/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// exp(score - log_sum) into scores, and exp(score - log_sum) * (slope - row_product) into slopes.
inline void weigh_slopes(float* scores, float* slopes, int64_t count, float log_sum, float row_product) {
  const FloatTag d;
  const auto shifts = hn::Set(d, log_sum);
  const auto products = hn::Set(d, row_product);
  for (int64_t i = 0; i < count; i += kLanes) {
    const FloatVector weight = weight_of(d, hn::Sub(hn::LoadU(d, scores + i), shifts));
    hn::StoreU(weight, d, scores + i);
    hn::StoreU(hn::Mul(weight, hn::Sub(hn::LoadU(d, slopes + i), products)), d, slopes + i);
  }
}
inline void weigh_slopes(double* scores, double* slopes, int64_t count, double log_sum, double row_product) {
  for (int64_t i = 0; i < count; ++i) {
    scores[i] = std::exp(scores[i] - log_sum);
    slopes[i] = scores[i] * (slopes[i] - row_product);
  }
}

template <class C>
class BackwardWorker : public BackwardPasses<BackwardWorker<C>, C> {
  using Passes = BackwardPasses<BackwardWorker<C>, C>;

 public:
  using Passes::Passes;

  // The products get q times the scale.
  static constexpr bool kScalesQueries = true;

  // D of a block of queries, as the diagonal of G O^T: the kernel that computes G v^T computes it too, so that a row
  // that sees a single key, whose output does not depend on its score, has a gradient of exactly 0.
  void fill_row_products(int64_t batch, int64_t head, int64_t query) {
    const int64_t rows = std::min(scratch_.query_block, sizes_.queries - query);
    C* grad = at(scratch_.grad_rows);
    C* output = at(scratch_.v_panels);
    C* products = call_.row_products + (batch * sizes_.heads + head) * sizes_.queries + query;
    pack_rows(head_of(call_.saved.grad_output, batch, head), query, rows, grad);
    pack_panels(head_of(call_.saved.output, batch, head), query, rows, output);
    for (int64_t first = 0; first < rows; first += kTileColumns) {
      const int64_t panel_end = std::min<int64_t>(first + kTileColumns, rows);
      for (int64_t row = first; row < panel_end; row += kTileRows) {
        alignas(64) C tile[kTileRows * kTileColumns];
        const int64_t count = std::min<int64_t>(kTileRows, panel_end - row);
        const C* left = grad + row * padded_depth(sizes_.value_depth);
        multiply(TileProduct<C>{count, panel_end - first, sizes_.value_depth, as_left(left, sizes_.value_depth),
                                panels_as_right(output + first * sizes_.value_depth, sizes_.value_depth), tile,
                                kTileColumns, false});
        for (int64_t i = 0; i < count; ++i) products[row + i] = tile[i * kTileColumns + row - first + i];
      }
    }
  }

  void pack_keys(int64_t batch, int64_t kv_head, int64_t key, int64_t count) {
    const View k = head_of(args_.k, batch, kv_head);
    pack_panels(k, key, count, at(scratch_.k_panels));
    pack_rows(k, key, count, at(scratch_.k_rows));
    pack_panels(head_of(args_.v, batch, kv_head), key, count, at(scratch_.v_panels));
  }

  void pack_queries(const ScoreBlock& block) {
    C* q = at(scratch_.q_rows);
    pack_rows(head_of(args_.q, block.batch, block.head), block.query, block.rows, q);
    for (int64_t r = 0; r < block.rows; ++r) {
      multiply_row(q + r * padded_depth(sizes_.depth), sizes_.depth, static_cast<C>(args_.settings.scale));
    }
    pack_rows(head_of(call_.saved.grad_output, block.batch, block.head), block.query, block.rows,
              at(scratch_.grad_rows));
  }

  // The weights P M, in place of scores, and the gradient of the scores, S, in slopes.
  void fill_slopes(const ScoreBlock& block, const Visible& visible) {
    const auto product = [&](int64_t left, int64_t right, int64_t depth, int64_t result) {
      multiply_block<C>({block.rows, block.columns, as_left(at(left), depth), panels_as_right(at(right), depth),
                         at(result), kScoreStride, false},
                        [&](int64_t, int64_t end, int64_t column) -> DepthRange {
                          return {0, visible.columns_of(end - 1) > column ? depth : 0};
                        });
    };
    product(scratch_.q_rows, scratch_.k_panels, sizes_.depth, scratch_.scores);
    product(scratch_.grad_rows, scratch_.v_panels, sizes_.value_depth, scratch_.slopes);
    for (int64_t r = 0; r < block.rows; ++r) fill_row(block, r, visible.columns_of(r));
  }

  // grad_v [keys, value_depth] += (P M)^T [keys, rows] G, grad_k [keys, depth] += S^T (scale q)
  void add_grad_keys(const ScoreBlock& block, const Visible& visible) {
    const auto product = [&](int64_t left, int64_t right, int64_t size, int64_t result) {
      multiply_block<C>({block.columns, size, scores_transposed(at(left)), as_right(at(right), size), at(result),
                         padded_depth(size), true},
                        [&](int64_t key, int64_t, int64_t) -> DepthRange {
                          return {visible.first_row_of(key), block.rows};
                        });
    };
    product(scratch_.scores, scratch_.grad_rows, sizes_.value_depth, scratch_.grad_v);
    product(scratch_.slopes, scratch_.q_rows, sizes_.depth, scratch_.grad_k);
  }

  // grad_q [rows, depth] += S [rows, keys] k, without the scale
  void add_grad_q(const ScoreBlock& block, const Visible& visible, C* grad_q) {
    multiply_block<C>({block.rows, sizes_.depth, scores_as_left(at(scratch_.slopes)),
                       as_right(at(scratch_.k_rows), sizes_.depth), grad_q, padded_depth(sizes_.depth), true},
                      [&](int64_t, int64_t end, int64_t) -> DepthRange {
                        return {0, visible.columns_of(end - 1)};
                      });
  }

 private:
  using Passes::args_;
  using Passes::at;
  using Passes::call_;
  using Passes::dropout_;
  using Passes::scratch_;
  using Passes::sizes_;

  // Cases: a row that sees no key has an infinite log_sum, so all its weights are 0.
  void fill_row(const ScoreBlock& block, int64_t row, int64_t count) {
    C* scores = at(scratch_.scores) + row * kScoreStride;
    C* slopes = at(scratch_.slopes) + row * kScoreStride;
    if (count > 0) {
      if (args_.mask.data != nullptr) {
        mask_row(row_at(head_of(args_.mask, block.batch, block.head), block.query + row, block.key), count, scores);
      }
      const bool drops = args_.settings.dropout.p > 0;
      const int64_t number = this->row_number(block, row);
      if (drops) {
        dropout_.draw(number, block.key, count);
        for (int64_t i = 0; i < count; ++i) slopes[i] *= dropout_.template factor<C>(i);
      }
      weigh_slopes(scores, slopes, count, static_cast<const C*>(call_.saved.log_sums.data)[number],
                   call_.row_products[number]);
      if (drops) {
        for (int64_t i = 0; i < count; ++i) scores[i] *= dropout_.template factor<C>(i);
      }
    }
    std::fill(scores + count, scores + block.columns, C{0});
    std::fill(slopes + count, slopes + block.columns, C{0});
  }
};

void attend_backward(ThreadPool& pool, const AttentionArgs& args, const AttentionSaved& saved, void* workspace,
                     const AttentionGrads& out) {
  if (args.q.dtype == DType::kF64) {
    return run_backward<BackwardWorker<double>>(pool, args, saved, Operands::kElements, static_cast<double*>(workspace),
                                                out);
  }
#if HWY_TARGET == HWY_AVX3
  if (attends_by_dot(args, saved)) {
    return attend_backward_by_dot(pool, args, saved, static_cast<float*>(workspace), out);
  }
#endif
  run_backward<BackwardWorker<float>>(pool, args, saved, Operands::kElements, static_cast<float*>(workspace), out);
}

// BF16 takes FP32 products, too: dot products would round the slopes.
void attend_backward_of_mask(ThreadPool& pool, const AttentionArgs& args, const AttentionSaved& saved, void* workspace,
                             const View& out) {
  if (args.q.dtype == DType::kF64) {
    return run_backward_of_mask<BackwardWorker<double>>(pool, args, saved, static_cast<double*>(workspace), out);
  }
  run_backward_of_mask<BackwardWorker<float>>(pool, args, saved, static_cast<float*>(workspace), out);
}

}  // namespace
}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(attend_backward);
HWY_EXPORT(attend_backward_of_mask);

size_t attention_backward_workspace(Stream& stream, const AttentionArgs& args) noexcept {
  const AttentionSizes sizes(args);
  const int width = pool_of(stream).width();
  int64_t size = BackwardScratch(sizes, width).size;
  if (attends_by_dot(args)) size = std::max(size, BackwardScratch(sizes, width, Operands::kPairs).size);
  const int64_t elements = round_up(sizes.rows(), kScoreStride) + (sizes.is_small() ? 1 : width) * size;
  return static_cast<size_t>(elements) * (args.q.dtype == DType::kF64 ? sizeof(double) : sizeof(float));
}

Status attention_backward(Stream& stream, const AttentionArgs& args, const AttentionSaved& saved, void* workspace,
                          const AttentionGrads& out) noexcept {
  HWY_DYNAMIC_DISPATCH(attend_backward)(pool_of(stream), args, saved, workspace, out);
  return {};
}

size_t attention_backward_of_mask_workspace(Stream& stream, const AttentionArgs& args) noexcept {
  const AttentionSizes sizes(args);
  const int width = pool_of(stream).width();
  const BackwardScratch scratch(sizes, width);
  const int64_t workers = sizes.is_small() ? 1 : width;
  const int64_t elements = round_up(sizes.rows(), kScoreStride) + workers * scratch.size;
  return static_cast<size_t>(elements) * (args.q.dtype == DType::kF64 ? sizeof(double) : sizeof(float)) +
         static_cast<size_t>(workers * scratch.query_block * kKeyBlock) * sizeof(double);
}

Status attention_backward_of_mask(Stream& stream, const AttentionArgs& args, const AttentionSaved& saved,
                                  void* workspace, const View& out) noexcept {
  HWY_DYNAMIC_DISPATCH(attend_backward_of_mask)(pool_of(stream), args, saved, workspace, out);
  return {};
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
