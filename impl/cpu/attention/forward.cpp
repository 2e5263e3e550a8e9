#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/attention/forward.cpp"
// Attention forward: each block of queries goes over all blocks of keys and keeps, for each row, the largest score so
// far, the sum of exp(score - largest), and the sum of exp(score - largest) v. If a block of keys raises the largest
// score, both sums are multiplied by exp(old - new) first (Milakov and Gimelshein, arXiv:1805.02867; Dao et al.,
// arXiv:2205.14135).
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

template <class C>
class ForwardBlock {
 public:
  ForwardBlock(const AttentionArgs& args, const AttentionSizes& sizes, const ForwardScratch& scratch, C* memory,
               const AttentionResult& out)
      : args_(args),
        sizes_(sizes),
        scratch_(scratch),
        memory_(memory),
        dropout_(args.settings.dropout, sizes.keys),
        out_(out) {}

  // `block` has a head and its queries.
  void run(ScoreBlock block) {
    start(block);
    for (block.key = 0; block.key < sizes_.keys; block.key += kKeyBlock) {
      block.columns = std::min(kKeyBlock, sizes_.keys - block.key);
      const Visible visible(block, args_.settings.is_causal, args_.settings.causal_offset);
      if (!visible.any()) break;
      add_keys(block, visible);
    }
    finish(block);
  }

 private:
  C* at(int64_t offset) const { return memory_ + offset; }
  C* output_row(int64_t row) const { return at(scratch_.output) + row * padded_depth(sizes_.value_depth); }

  void start(const ScoreBlock& block) {
    C* q = at(scratch_.q_rows);
    pack_rows(head_of(args_.q, block.batch, block.head), block.query, block.rows, q);
    for (int64_t r = 0; r < block.rows; ++r) {
      multiply_row(q + r * padded_depth(sizes_.depth), sizes_.depth, static_cast<C>(args_.settings.scale));
      std::fill_n(output_row(r), sizes_.value_depth, C{0});
    }
    std::fill_n(at(scratch_.largest), block.rows, -kInfinity<C>);
    std::fill_n(at(scratch_.sums), block.rows, C{0});
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

  // Makes weights of a row's scores. Cases: a row that has seen no key has a largest score of -infinity; it keeps
  // weights of 0, since exp(-infinity - 0) is 0. A score of NaN or +infinity makes the sum NaN.
  void weigh_row(const ScoreBlock& block, int64_t row, int64_t count) {
    C* scores = at(scratch_.scores) + row * kScoreStride;
    if (count > 0) {
      if (args_.mask.data != nullptr) {
        mask_row(row_at(head_of(args_.mask, block.batch, block.head), block.query + row, block.key), count, scores);
      }
      const C old = at(scratch_.largest)[row];
      const C largest = std::max(old, largest_of(scores, count));
      const C sum = exponentiate(scores, count, largest == -kInfinity<C> ? C{0} : largest);
      const C shrink = old == largest ? C{1} : std::exp(old - largest);
      at(scratch_.largest)[row] = largest;
      at(scratch_.sums)[row] = at(scratch_.sums)[row] * shrink + sum;
      if (shrink != C{1}) multiply_row(output_row(row), sizes_.value_depth, shrink);
      if (args_.settings.dropout.p > 0) drop_row(block, row, count, scores);
    }
    std::fill(scores + count, scores + block.columns, C{0});
  }

  void drop_row(const ScoreBlock& block, int64_t row, int64_t count, C* weights) {
    dropout_.draw((block.batch * sizes_.heads + block.head) * sizes_.queries + block.query + row, block.key, count);
    for (int64_t i = 0; i < count; ++i) weights[i] *= dropout_.template factor<C>(i);
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

  void store_log_sums(const ScoreBlock& block) {
    C* log_sums = static_cast<C*>(out_.log_sums.data) + (block.batch * sizes_.heads + block.head) * sizes_.queries;
    for (int64_t r = 0; r < block.rows; ++r) {
      const C sum = at(scratch_.sums)[r];
      log_sums[block.query + r] = sum == 0 ? kInfinity<C> : at(scratch_.largest)[r] + std::log(sum);
    }
  }

  const AttentionArgs& args_;
  const AttentionSizes& sizes_;
  const ForwardScratch& scratch_;
  C* memory_;
  DropoutRow dropout_;
  const AttentionResult& out_;
};

template <class C>
void run_forward(ThreadPool& pool, const AttentionArgs& args, C* memory, const AttentionResult& out) {
  const AttentionSizes sizes(args);
  const ForwardScratch scratch(sizes);
  const int64_t blocks = ceil_div(sizes.queries, scratch.query_block);
  const auto run_block = [&](int64_t chunk, int worker) {
    // With a causal mask the last queries have the most work, so they go first.
    const int64_t query = (blocks - 1 - chunk % blocks) * scratch.query_block;
    const int64_t head = chunk / blocks;
    ForwardBlock<C>(args, sizes, scratch, memory + worker * scratch.size, out)
        .run({.batch = head / sizes.heads,
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

void attend(ThreadPool& pool, const AttentionArgs& args, void* workspace, const AttentionResult& out) {
  if (args.q.dtype == DType::kF64) return run_forward(pool, args, static_cast<double*>(workspace), out);
  run_forward(pool, args, static_cast<float*>(workspace), out);
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
  return static_cast<size_t>(workers * ForwardScratch(sizes).size) *
         (args.q.dtype == DType::kF64 ? sizeof(double) : sizeof(float));
}

Status attention_forward(Stream& stream, const AttentionArgs& args, void* workspace,
                         const AttentionResult& out) noexcept {
  HWY_DYNAMIC_DISPATCH(attend)(pool_of(stream), args, workspace, out);
  return {};
}

}  // namespace halftone::cpu
#endif  // HWY_ONCE
