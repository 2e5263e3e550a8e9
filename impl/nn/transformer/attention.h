// Attention of several heads, with the projections around it.
#pragma once

#include "nn/composite.h"
#include "nn/transformer/options.h"

namespace halftone::nn {

// (query[, key[, value[, mask[, cache[, positions]]]]]) to [batch, queries, width]. Without a key the sequence attends
// to itself; without a value the keys' sequence gives the values. A cache, of one layer (cache.h), has the keys and
// values of earlier positions: the sequence attends to them as well. Positions, which broadcast to [batch, time], are
// those by which rotary attention of a sequence to itself rotates. Parts, with GPT-2's names: c_attn, the projections
// to queries, keys and values in the rows of one weight, and c_proj. c_attn runs as a module, with its hooks, where the
// sequence attends to itself; else each sequence is projected by its own rows of the weight.
class MultiheadAttention final : public Composite {
 public:
  // `output_std` is that of c_proj's weight.
  MultiheadAttention(ContextDevice& device, const AttentionModuleOptions& options, double output_std);

  const char* kind() const noexcept override { return "multihead_attention"; }
  Arity arity() const noexcept override { return {.required_inputs = 1, .inputs = 6, .outputs = 1}; }
  // The attention's result takes a third of the projections' memory, and more time to compute than they do.
  bool keeps_costly_results() const noexcept override { return true; }
  void forward_all(std::span<const Tensor> inputs, std::span<Tensor> outputs) const override;
  Ref<Module> copied(PartCopies& parts) const override;

 private:
  enum Part : size_t { kProjections, kOutput };
  enum Input : size_t { kQuery, kKey, kValue, kMask, kCache, kPositions };
  // Queries, keys and values: the inputs; then projected, [batch, time, heads * depth]; then as heads,
  // [batch, heads, time, depth].
  struct Operands {
    Tensor query, key, value;
  };

  int64_t depth() const noexcept { return options_.width / options_.heads; }
  void require_sequence(const Tensor& sequence, const Tensor& query, const char* argument) const;
  void require_sequences(const Operands& inputs) const;
  void require_cacheable(const Tensor& cache, const Tensor& query, bool is_self) const;
  void require_positions(const Tensor& positions, const Tensor& query, bool is_self) const;
  Operands self_projections(const Tensor& sequence) const;
  Operands cross_projections(const Operands& inputs) const;
  Tensor split_heads(const Tensor& projected, int64_t heads) const;
  // Without `positions` the first row of queries and of keys has position `past`.
  Operands as_heads(const Operands& projected, const Tensor& positions, int64_t past) const;

  AttentionModuleOptions options_;
};

}  // namespace halftone::nn
