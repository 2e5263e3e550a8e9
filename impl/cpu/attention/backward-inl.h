// Attention backward, whatever the products. With weights P = softmax(scores), the kept share M of dropout (0 or
// 1 / (1 - p)), output O and its gradient G, for one head:
//   grad_v = (P M)^T G
//   S = P ((G v^T) M - D)        the gradient of the scores; D, one number a row, is the sum of G O over the row
//   grad_k = scale S^T q
//   grad_q = scale S k
// P is computed again, block by block, as exp(score - log_sum). Every sum has one order whatever the number of threads:
// that of grad_k and grad_v goes over blocks of queries, that of grad_q over blocks of keys. Included once per
// instruction set by the sources of this folder; any thread.
#if defined(HALFTONE_ATTENTION_BACKWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_ATTENTION_BACKWARD_INL_H_
#undef HALFTONE_ATTENTION_BACKWARD_INL_H_
#else
#define HALFTONE_ATTENTION_BACKWARD_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/attention/places.h"
#include "cpu/attention/plan.h"
#include "cpu/attention/rows-inl.h"
#include "cpu/simd/tiles.h"
#include "cpu/threads/thread_pool.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

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

// One worker's part: the order of the blocks. Steps derives from it and has the work on a block: pack_keys,
// pack_queries, fill_slopes, add_grad_keys, add_grad_q.
template <class Steps, class C>
class BackwardPasses {
 public:
  BackwardPasses(const BackwardCall<C>& call, C* memory)
      : call_(call),
        args_(call.args),
        sizes_(call.sizes),
        scratch_(call.scratch),
        dropout_(call.args.settings.dropout, call.sizes.keys),
        memory_(memory) {}

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
    steps().pack_keys(batch, kv_head, key, count);
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
        steps().pack_queries(block);
        steps().fill_slopes(block, visible);
        if (call_.out.k.data != nullptr) steps().add_grad_keys(block, visible);
        const int64_t row = i * sizes_.queries + query;
        if (adds_grad_q) steps().add_grad_q(block, visible, at(scratch_.grad_q) + row * padded_depth(sizes_.depth));
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
    steps().pack_queries(block);
    std::fill_n(at(scratch_.grad_q), block.rows * padded_depth(sizes_.depth), C{0});
    for (; block.key < sizes_.keys; block.key += kKeyBlock) {
      block.columns = std::min(kKeyBlock, sizes_.keys - block.key);
      const Visible visible(block, args_.settings.is_causal, args_.settings.causal_offset);
      if (!visible.any()) break;
      steps().pack_keys(batch, head / sizes_.group, block.key, block.columns);
      steps().fill_slopes(block, visible);
      steps().add_grad_q(block, visible, at(scratch_.grad_q));
    }
    store_grad_q(batch, head, query, block.rows, at(scratch_.grad_q));
  }

  // S of the last block, in rows kScoreStride apart.
  const C* slopes() const { return at(scratch_.slopes); }

 protected:
  C* at(int64_t offset) const { return memory_ + offset; }
  int64_t row_number(const ScoreBlock& block, int64_t row) const {
    return (block.batch * sizes_.heads + block.head) * sizes_.queries + block.query + row;
  }

  const BackwardCall<C>& call_;
  const AttentionArgs& args_;
  const AttentionSizes& sizes_;
  const BackwardScratch& scratch_;
  DropoutRow dropout_;

 private:
  Steps& steps() { return static_cast<Steps&>(*this); }

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
      C* row = at(scratch_.grad_k) + i * padded_depth(sizes_.depth);
      if constexpr (!Steps::kScalesQueries) multiply_row(row, sizes_.depth, static_cast<C>(args_.settings.scale));
      store_tile(row, sizes_.depth, row_at(k, key + i));
      store_tile(at(scratch_.grad_v) + i * padded_depth(sizes_.value_depth), sizes_.value_depth, row_at(v, key + i));
    }
  }

  C* memory_;
};

template <class F>
void for_each_task(ThreadPool& pool, bool is_small, int64_t tasks, F&& f) {
  if (!is_small) return pool.parallel_for(tasks, f);
  for (int64_t task = 0; task < tasks; ++task) f(task, 0);
}

// D of all rows. `worker_of(worker)` makes one.
template <class C, class F>
void fill_all_row_products(ThreadPool& pool, const BackwardCall<C>& call, const F& worker_of) {
  const AttentionSizes& sizes = call.sizes;
  const int64_t blocks = ceil_div(sizes.queries, call.scratch.query_block);
  for_each_task(pool, sizes.is_small(), sizes.batches * sizes.heads * blocks, [&](int64_t task, int worker) {
    const int64_t head = task / blocks;
    worker_of(worker).fill_row_products(head / sizes.heads, head % sizes.heads,
                                        task % blocks * call.scratch.query_block);
  });
}

template <class Worker, class C>
void run_backward(ThreadPool& pool, const AttentionArgs& args, const AttentionSaved& saved, Operands operands,
                  C* memory, const AttentionGrads& out) {
  const AttentionSizes sizes(args);
  const BackwardCall<C> call = {args, saved, out, sizes, BackwardScratch(sizes, pool.width(), operands), memory};
  C* scratch = memory + round_up(sizes.rows(), kScoreStride);
  const int64_t blocks = ceil_div(sizes.queries, call.scratch.query_block);
  const bool is_small = sizes.is_small();
  const auto worker_of = [&](int worker) { return Worker(call, scratch + worker * call.scratch.size); };
  fill_all_row_products(pool, call, worker_of);
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

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
