// The gradient of attention's mask: S of backward-inl.h, summed over the heads, queries and keys that share an element
// of the mask. A task is a tile of the mask: a block of queries, or all of them where the mask is repeated over them,
// and of keys likewise. It goes over the heads that share the tile one after another, so that no more slopes exist than
// those of one block, and every sum has one order. Included once per instruction set by backward.cpp; any thread.
#if defined(HALFTONE_ATTENTION_BACKWARD_OF_MASK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_ATTENTION_BACKWARD_OF_MASK_INL_H_
#undef HALFTONE_ATTENTION_BACKWARD_OF_MASK_INL_H_
#else
#define HALFTONE_ATTENTION_BACKWARD_OF_MASK_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/attention/backward-inl.h"
#include "cpu/attention/places.h"
#include "cpu/attention/plan.h"
#include "cpu/simd/tiles.h"
#include "cpu/threads/thread_pool.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

// One dimension of the mask, in parts of `block`; a single part of everything if the mask is repeated.
struct MaskRange {
  MaskRange(int64_t total, int64_t block, int64_t stride)
      : total(total), is_summed(stride == 0), size(is_summed ? total : block), parts(ceil_div(total, size)) {}
  int64_t end(int64_t begin) const { return std::min(begin + size, total); }
  int64_t stored(int64_t begin) const { return is_summed ? 1 : end(begin) - begin; }

  int64_t total;
  bool is_summed;
  int64_t size;
  int64_t parts;
};

template <class Worker, class C>
class MaskPass {
 public:
  MaskPass(const BackwardCall<C>& call, const View& out)
      : call_(call),
        sizes_(call.sizes),
        out_(out),
        heads_(out),
        queries_(sizes_.queries, call.scratch.query_block, out.strides[out.rank() - 2]),
        keys_(sizes_.keys, kKeyBlock, out.strides[out.rank() - 1]) {}

  int64_t tasks() const { return heads_.groups() * queries_.parts * keys_.parts; }

  // `sums` has room for a block of queries and of keys.
  void run(int64_t task, Worker worker, double* sums) const {
    const int64_t key = task % keys_.parts * keys_.size;
    const int64_t query = task / keys_.parts % queries_.parts * queries_.size;
    const int64_t group = task / keys_.parts / queries_.parts;
    std::fill_n(sums, queries_.stored(query) * kKeyBlock, 0.0);
    for (int64_t member = 0; member < heads_.members(); ++member) {
      add_head(heads_.number_of(group, member), query, key, worker, sums);
    }
    store(heads_.number_of(group, 0), query, key, sums);
  }

 private:
  void add_head(int64_t number, int64_t query, int64_t first_key, Worker& worker, double* sums) const {
    ScoreBlock block = {.batch = number / sizes_.heads,
                        .head = number % sizes_.heads,
                        .query = query,
                        .rows = 0,
                        .key = 0,
                        .columns = 0};
    for (; block.query < queries_.end(query); block.query += block.rows) {
      block.rows = std::min(call_.scratch.query_block, sizes_.queries - block.query);
      worker.pack_queries(block);
      for (block.key = first_key; block.key < keys_.end(first_key); block.key += block.columns) {
        block.columns = std::min(kKeyBlock, sizes_.keys - block.key);
        const Visible visible(block, call_.args.settings.is_causal, call_.args.settings.causal_offset);
        if (!visible.any()) break;
        worker.pack_keys(block.batch, block.head / sizes_.group, block.key, block.columns);
        worker.fill_slopes(block, visible);
        for (int64_t r = 0; r < block.rows; ++r) {
          add_row(worker.slopes() + r * kScoreStride, block.columns, sums + (queries_.is_summed ? 0 : r * kKeyBlock));
        }
      }
    }
  }

  void add_row(const C* slopes, int64_t count, double* sums) const {
    if (!keys_.is_summed) {
      for (int64_t i = 0; i < count; ++i) sums[i] += static_cast<double>(slopes[i]);
      return;
    }
    for (int64_t i = 0; i < count; ++i) *sums += static_cast<double>(slopes[i]);
  }

  void store(int64_t number, int64_t query, int64_t key, const double* sums) const {
    const View head = head_of(out_, number / sizes_.heads, number % sizes_.heads);
    for (int64_t r = 0; r < queries_.stored(query); ++r) {
      C row[kKeyBlock];
      for (int64_t i = 0; i < keys_.stored(key); ++i) row[i] = static_cast<C>(sums[r * kKeyBlock + i]);
      store_tile(row, keys_.stored(key), row_at(head, query + r, key));
    }
  }

  const BackwardCall<C>& call_;
  const AttentionSizes& sizes_;
  const View& out_;
  SharedHeads heads_;
  MaskRange queries_;
  MaskRange keys_;
};

template <class Worker, class C>
void run_backward_of_mask(ThreadPool& pool, const AttentionArgs& args, const AttentionSaved& saved, C* memory,
                          const View& out) {
  const AttentionGrads none = {};
  const AttentionSizes sizes(args);
  const BackwardCall<C> call = {args, saved, none, sizes, BackwardScratch(sizes, pool.width()), memory};
  const bool is_small = sizes.is_small();
  C* scratch = memory + round_up(sizes.rows(), kScoreStride);
  auto* sums = reinterpret_cast<double*>(scratch + (is_small ? 1 : pool.width()) * call.scratch.size);
  const auto worker_of = [&](int worker) { return Worker(call, scratch + worker * call.scratch.size); };
  fill_all_row_products(pool, call, worker_of);
  const MaskPass<Worker, C> pass(call, out);
  for_each_task(pool, is_small, pass.tasks(), [&](int64_t task, int worker) {
    pass.run(task, worker_of(worker), sums + worker * call.scratch.query_block * kKeyBlock);
  });
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
