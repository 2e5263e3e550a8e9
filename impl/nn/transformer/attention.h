// Attention of several heads, with the projections around it.
#pragma once

#include "nn/composite.h"
#include "nn/transformer/options.h"

namespace halftone::nn {

// (query[, key[, value[, mask]]]) to [batch, queries, width]. Without a key the sequence attends to itself; without a
// value the keys' sequence gives the values. Parts, with GPT-2's names: c_attn, the projections to queries, keys and
// values in the rows of one weight, and c_proj. c_attn runs as a module, with its hooks, where the sequence attends to
// itself; else each sequence is projected by its own rows of the weight.
class MultiheadAttention final : public Composite {
 public:
  // `output_std` is that of c_proj's weight.
  MultiheadAttention(ContextDevice& device, const AttentionModuleOptions& options, double output_std);

  const char* kind() const noexcept override { return "multihead_attention"; }
  Arity arity() const noexcept override { return {.required_inputs = 1, .inputs = 4, .outputs = 1}; }
  void forward_all(std::span<const Tensor> inputs, std::span<Tensor> outputs) const override;
  Ref<Module> copied(PartCopies& parts) const override;

 private:
  enum Part : size_t { kProjections, kOutput };
  // Projected, [batch, time, heads * depth].
  struct Projected {
    Tensor query, key, value;
  };

  int64_t depth() const noexcept { return options_.width / options_.heads; }
  void require_sequence(const Tensor& sequence, const Tensor& query, const char* argument) const;
  Projected self_projections(const Tensor& sequence) const;
  Projected cross_projections(const Tensor& query, const Tensor& key, const Tensor& value) const;
  Tensor split_heads(const Tensor& projected, int64_t heads) const;

  AttentionModuleOptions options_;
};

}  // namespace halftone::nn
