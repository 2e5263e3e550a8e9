// Attention forward, whatever the products: each block of queries goes over all blocks of keys and keeps, for each row,
// the largest score so far, the sum of exp(score - largest), and the sum of exp(score - largest) v. If a block of keys
// raises the largest score, both sums are multiplied by exp(old - new) first (Milakov and Gimelshein, arXiv:1805.02867;
// Dao et al., arXiv:2205.14135). Included once per instruction set by the sources of this folder; any thread.
#if defined(HALFTONE_ATTENTION_FORWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_ATTENTION_FORWARD_INL_H_
#undef HALFTONE_ATTENTION_FORWARD_INL_H_
#else
#define HALFTONE_ATTENTION_FORWARD_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cpu/attention/places.h"
#include "cpu/attention/plan.h"
#include "cpu/attention/rows-inl.h"
#include "cpu/simd/tiles.h"
#include "cpu/threads/thread_pool.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

// The rows of one block of queries in one worker's memory.
template <class C>
class ForwardRows {
 public:
  ForwardRows(const AttentionArgs& args, const AttentionSizes& sizes, const ForwardScratch& scratch, C* memory,
              const AttentionResult& out)
      : args_(args),
        sizes_(sizes),
        scratch_(scratch),
        memory_(memory),
        dropout_(args.settings.dropout, sizes.keys),
        out_(out) {}

  void start(const ScoreBlock& block) {
    for (int64_t r = 0; r < block.rows; ++r) std::fill_n(output_row(r), sizes_.value_depth, C{0});
    std::fill_n(at(scratch_.largest), block.rows, -kInfinity<C>);
    std::fill_n(at(scratch_.sums), block.rows, C{0});
  }

  void finish(const ScoreBlock& block) {
    const View output = head_of(out_.output, block.batch, block.head);
    for (int64_t r = 0; r < block.rows; ++r) {
      const C sum = at(scratch_.sums)[r];
      if (sum == 0) {
        std::fill_n(output_row(r), sizes_.value_depth, C{0});
      } else {
        multiply_row(output_row(r), sizes_.value_depth, C{1} / sum);
      }
      store_tile(output_row(r), sizes_.value_depth, row_at(output, block.query + r));
    }
    if (out_.log_sums.data != nullptr) store_log_sums(block);
  }

 protected:
  C* at(int64_t offset) const { return memory_ + offset; }

  void mask_scores(const ScoreBlock& block, int64_t row, int64_t count, C* scores) {
    if (args_.mask.data == nullptr) return;
    mask_row(row_at(head_of(args_.mask, block.batch, block.head), block.query + row, block.key), count, scores);
  }

  // Takes the largest score of a block of keys. Returns the number to subtract from the row's scores. Cases: a row that
  // has seen no key has a largest score of -infinity; it keeps weights of 0, since exp(-infinity - 0) is 0. A score of
  // NaN or +infinity makes the sum NaN.
  C raise_largest(int64_t row, C largest_of_block) {
    const C old = at(scratch_.largest)[row];
    const C largest = std::max(old, largest_of_block);
    if (old != largest) {
      const C shrink = std::exp(old - largest);
      at(scratch_.largest)[row] = largest;
      at(scratch_.sums)[row] *= shrink;
      multiply_row(output_row(row), sizes_.value_depth, shrink);
    }
    return largest == -kInfinity<C> ? C{0} : largest;
  }
  void add_sum(int64_t row, C sum) { at(scratch_.sums)[row] += sum; }

  void drop_row(const ScoreBlock& block, int64_t row, int64_t count, C* weights) {
    if (args_.settings.dropout.p == 0) return;
    dropout_.draw((block.batch * sizes_.heads + block.head) * sizes_.queries + block.query + row, block.key, count);
    for (int64_t i = 0; i < count; ++i) weights[i] *= dropout_.template factor<C>(i);
  }

  const AttentionArgs& args_;
  const AttentionSizes& sizes_;
  const ForwardScratch& scratch_;

 private:
  C* output_row(int64_t row) const { return at(scratch_.output) + row * padded_depth(sizes_.value_depth); }

  void store_log_sums(const ScoreBlock& block) {
    C* log_sums = static_cast<C*>(out_.log_sums.data) + (block.batch * sizes_.heads + block.head) * sizes_.queries;
    for (int64_t r = 0; r < block.rows; ++r) {
      const C sum = at(scratch_.sums)[r];
      log_sums[block.query + r] = sum == 0 ? kInfinity<C> : at(scratch_.largest)[r] + std::log(sum);
    }
  }

  C* memory_;
  DropoutRow dropout_;
  const AttentionResult& out_;
};

// `worker` is a ForwardRows with pack_queries and add_keys; `block` has a head and its queries.
template <class Worker>
void run_forward_block(Worker&& worker, const AttentionArgs& args, int64_t keys, ScoreBlock block) {
  worker.start(block);
  worker.pack_queries(block);
  for (block.key = 0; block.key < keys; block.key += kKeyBlock) {
    block.columns = std::min(kKeyBlock, keys - block.key);
    const Visible visible(block, args.settings.is_causal, args.settings.causal_offset);
    if (!visible.any()) break;
    worker.add_keys(block, visible);
  }
  worker.finish(block);
}

template <class Worker, class C>
void run_forward(ThreadPool& pool, const AttentionArgs& args, Operands operands, C* memory,
                 const AttentionResult& out) {
  const AttentionSizes sizes(args);
  const ForwardScratch scratch(sizes, operands);
  const int64_t blocks = ceil_div(sizes.queries, scratch.query_block);
  const auto run_block = [&](int64_t chunk, int worker) {
    // With a causal mask the last queries have the most work, so they go first.
    const int64_t query = (blocks - 1 - chunk % blocks) * scratch.query_block;
    const int64_t head = chunk / blocks;
    run_forward_block(Worker(args, sizes, scratch, memory + worker * scratch.size, out), args, sizes.keys,
                      {.batch = head / sizes.heads,
                       .head = head % sizes.heads,
                       .query = query,
                       .rows = std::min(scratch.query_block, sizes.queries - query),
                       .key = 0,
                       .columns = 0});
  };
  const int64_t chunks = sizes.batches * sizes.heads * blocks;
  if (!sizes.is_small()) return pool.parallel_for(chunks, run_block);
  for (int64_t chunk = 0; chunk < chunks; ++chunk) run_block(chunk, 0);
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
