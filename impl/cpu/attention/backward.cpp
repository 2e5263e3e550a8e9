#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/attention/backward.cpp"
// Attention backward. With weights P = softmax(scores), the kept share M of dropout (0 or 1 / (1 - p)), output O and
// its gradient G, for one head:
//   grad_v = (P M)^T G
//   S = P ((G v^T) M - D)        the gradient of the scores; D, one number a row, is the sum of G O over the row
//   grad_k = S^T (scale q)
//   grad_q = scale S k
// P is computed again, block by block, as exp(score - log_sum). Every sum has one order whatever the number of threads:
// that of grad_k and grad_v goes over blocks of queries, that of grad_q over blocks of keys.
#include <algorithm>
#include <cmath>

#include "cpu/attention/entries.h"
#include "cpu/attention/places.h"
#include "cpu/attention/plan.h"
#include "cpu/device.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include "cpu/attention/products-inl.h"
#include "cpu/attention/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {
namespace {

// All arguments of one call.
template <class C>
struct BackwardCall {
  const AttentionArgs& args;
  const AttentionSaved& saved;
  const AttentionGrads& out;
  AttentionSizes sizes;
  BackwardScratch scratch;
  C* row_products;  // D of every row
};

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

// One worker's part.
template <class C>
class BackwardWorker {
 public:
  BackwardWorker(const BackwardCall<C>& call, C* memory)
      : call_(call),
        args_(call.args),
        sizes_(call.sizes),
        scratch_(call.scratch),
        memory_(memory),
        dropout_(call.args.settings.dropout, call.sizes.keys) {}

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

  // All gradients of one head of k and v, and of the heads of q that read it.
  void run_head(int64_t batch, int64_t kv_head) {
    std::fill_n(at(scratch_.grad_q), sizes_.group * sizes_.queries * padded_depth(sizes_.depth), C{0});
    for (int64_t key = 0; key < sizes_.keys; key += kKeyBlock)
      run_keys(batch, kv_head, key, call_.out.q.data != nullptr);
    if (call_.out.q.data == nullptr) return;
    for (int64_t i = 0; i < sizes_.group; ++i) {
      store_grad_q(batch, kv_head * sizes_.group + i, 0, sizes_.queries,
                   at(scratch_.grad_q) + i * sizes_.queries * padded_depth(sizes_.depth));
    }
  }

  // The gradients of a block of keys; if `adds_grad_q`, also its part of grad_q.
  void run_keys(int64_t batch, int64_t kv_head, int64_t key, bool adds_grad_q) {
    const int64_t count = std::min(kKeyBlock, sizes_.keys - key);
    pack_keys(batch, kv_head, key, count);
    std::fill_n(at(scratch_.grad_k), count * padded_depth(sizes_.depth), C{0});
    std::fill_n(at(scratch_.grad_v), count * padded_depth(sizes_.value_depth), C{0});
    for (int64_t i = 0; i < sizes_.group; ++i) {
      for (int64_t query = 0; query < sizes_.queries; query += scratch_.query_block) {
        const ScoreBlock block = {.batch = batch,
                                  .head = kv_head * sizes_.group + i,
                                  .query = query,
                                  .rows = std::min(scratch_.query_block, sizes_.queries - query),
                                  .key = key,
                                  .columns = count};
        const Visible visible(block, args_.settings.is_causal, args_.settings.causal_offset);
        if (!visible.any()) continue;
        pack_queries(block);
        fill_slopes(block, visible);
        if (call_.out.k.data != nullptr) add_grad_keys(block, visible);
        const int64_t row = i * sizes_.queries + query;
        if (adds_grad_q) add_grad_q(block, visible, at(scratch_.grad_q) + row * padded_depth(sizes_.depth));
      }
    }
    if (call_.out.k.data != nullptr) store_grad_keys(batch, kv_head, key, count);
  }

  // grad_q of a block of queries.
  void run_queries(int64_t batch, int64_t head, int64_t query) {
    ScoreBlock block = {.batch = batch,
                        .head = head,
                        .query = query,
                        .rows = std::min(scratch_.query_block, sizes_.queries - query),
                        .key = 0,
                        .columns = 0};
    pack_queries(block);
    std::fill_n(at(scratch_.grad_q), block.rows * padded_depth(sizes_.depth), C{0});
    for (; block.key < sizes_.keys; block.key += kKeyBlock) {
      block.columns = std::min(kKeyBlock, sizes_.keys - block.key);
      const Visible visible(block, args_.settings.is_causal, args_.settings.causal_offset);
      if (!visible.any()) break;
      pack_keys(batch, head / sizes_.group, block.key, block.columns);
      fill_slopes(block, visible);
      add_grad_q(block, visible, at(scratch_.grad_q));
    }
    store_grad_q(batch, head, query, block.rows, at(scratch_.grad_q));
  }

 private:
  C* at(int64_t offset) const { return memory_ + offset; }
  int64_t row_number(const ScoreBlock& block, int64_t row) const {
    return (block.batch * sizes_.heads + block.head) * sizes_.queries + block.query + row;
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

  // Cases: a row that sees no key has an infinite log_sum, so all its weights are 0.
  void fill_row(const ScoreBlock& block, int64_t row, int64_t count) {
    C* scores = at(scratch_.scores) + row * kScoreStride;
    C* slopes = at(scratch_.slopes) + row * kScoreStride;
    if (count > 0) {
      if (args_.mask.data != nullptr) {
        mask_row(row_at(head_of(args_.mask, block.batch, block.head), block.query + row, block.key), count, scores);
      }
      const bool drops = args_.settings.dropout.p > 0;
      const int64_t number = row_number(block, row);
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

  void store_grad_q(int64_t batch, int64_t head, int64_t query, int64_t rows, C* grad_q) {
    const View out = head_of(call_.out.q, batch, head);
    for (int64_t r = 0; r < rows; ++r) {
      C* row = grad_q + r * padded_depth(sizes_.depth);
      multiply_row(row, sizes_.depth, static_cast<C>(args_.settings.scale));
      store_tile(row, sizes_.depth, row_at(out, query + r));
    }
  }

  void store_grad_keys(int64_t batch, int64_t kv_head, int64_t key, int64_t count) {
    const View k = head_of(call_.out.k, batch, kv_head);
    const View v = head_of(call_.out.v, batch, kv_head);
    for (int64_t i = 0; i < count; ++i) {
      store_tile(at(scratch_.grad_k) + i * padded_depth(sizes_.depth), sizes_.depth, row_at(k, key + i));
      store_tile(at(scratch_.grad_v) + i * padded_depth(sizes_.value_depth), sizes_.value_depth, row_at(v, key + i));
    }
  }

  const BackwardCall<C>& call_;
  const AttentionArgs& args_;
  const AttentionSizes& sizes_;
  const BackwardScratch& scratch_;
  C* memory_;
  DropoutRow dropout_;
};

template <class F>
void for_each_task(ThreadPool& pool, bool is_small, int64_t tasks, F&& f) {
  if (!is_small) return pool.parallel_for(tasks, f);
  for (int64_t task = 0; task < tasks; ++task) f(task, 0);
}

template <class C>
void run_backward(ThreadPool& pool, const AttentionArgs& args, const AttentionSaved& saved, C* memory,
                  const AttentionGrads& out) {
  const AttentionSizes sizes(args);
  const BackwardCall<C> call = {args, saved, out, sizes, BackwardScratch(sizes, pool.width()), memory};
  C* scratch = memory + round_up(sizes.rows(), kScoreStride);
  const int64_t blocks = ceil_div(sizes.queries, call.scratch.query_block);
  const bool is_small = sizes.is_small();
  const auto worker_of = [&](int worker) { return BackwardWorker<C>(call, scratch + worker * call.scratch.size); };
  for_each_task(pool, is_small, sizes.batches * sizes.heads * blocks, [&](int64_t task, int worker) {
    const int64_t head = task / blocks;
    worker_of(worker).fill_row_products(head / sizes.heads, head % sizes.heads,
                                        task % blocks * call.scratch.query_block);
  });
  const int64_t kv_heads = sizes.kv_heads();
  if (call.scratch.is_one_pass) {
    for_each_task(pool, is_small, sizes.batches * kv_heads,
                  [&](int64_t task, int worker) { worker_of(worker).run_head(task / kv_heads, task % kv_heads); });
    return;
  }
  if (out.k.data != nullptr) {
    const int64_t key_blocks = sizes.key_blocks();
    for_each_task(pool, is_small, sizes.batches * kv_heads * key_blocks, [&](int64_t task, int worker) {
      const int64_t head = task / key_blocks;
      worker_of(worker).run_keys(head / kv_heads, head % kv_heads, task % key_blocks * kKeyBlock, false);
    });
  }
  if (out.q.data != nullptr) {
    for_each_task(pool, is_small, sizes.batches * sizes.heads * blocks, [&](int64_t task, int worker) {
      const int64_t head = task / blocks;
      const int64_t block = blocks - 1 - task % blocks;  // with a causal mask the last queries have the most work
      worker_of(worker).run_queries(head / sizes.heads, head % sizes.heads, block * call.scratch.query_block);
    });
  }
}

void attend_backward(ThreadPool& pool, const AttentionArgs& args, const AttentionSaved& saved, void* workspace,
                     const AttentionGrads& out) {
  if (args.q.dtype == DType::kF64) return run_backward(pool, args, saved, static_cast<double*>(workspace), out);
  run_backward(pool, args, saved, static_cast<float*>(workspace), out);
}

}  // namespace
}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::cpu {

HWY_EXPORT(attend_backward);

size_t attention_backward_workspace(Stream& stream, const AttentionArgs& args) noexcept {
  const AttentionSizes sizes(args);
  const int width = pool_of(stream).width();
  const int64_t elements =
      round_up(sizes.rows(), kScoreStride) + (sizes.is_small() ? 1 : width) * BackwardScratch(sizes, width).size;
  return static_cast<size_t>(elements) * (args.q.dtype == DType::kF64 ? sizeof(double) : sizeof(float));
}

Status attention_backward(Stream& stream, const AttentionArgs& args, const AttentionSaved& saved, void* workspace,
                          const AttentionGrads& out) noexcept {
  HWY_DYNAMIC_DISPATCH(attend_backward)(pool_of(stream), args, saved, workspace, out);
  return {};
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
