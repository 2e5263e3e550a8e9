// One layer of a transformer, and a stack of such layers.
#pragma once

#include "nn/composite.h"
#include "nn/transformer/options.h"
#include "nn/transformer/residual.h"

namespace halftone::nn {

// A LayerNorm or an RMSNorm over the width.
Ref<Module> make_norm(ContextDevice& device, const TransformerOptions& options);

// The inputs of a block beside x, each undefined where absent.
struct BlockInputs {
  const Tensor& mask;
  const Tensor& cache;      // of one layer
  const Tensor& positions;  // for rotary attention
};

// (x[, mask[, cache[, positions]]]) to x, with the cache of one layer. Parts, with GPT-2's names: ln_1, attn, ln_2,
// mlp. Norms are before the parts that they belong to, or behind the sums with the residual stream. A sum and the norm
// that reads it are one operation, unless the norm has a hook.
class TransformerBlock final : public Composite {
 public:
  TransformerBlock(ContextDevice& device, const TransformerOptions& options);

  const char* kind() const noexcept override { return "transformer_block"; }
  Arity arity() const noexcept override { return {.required_inputs = 1, .inputs = 4, .outputs = 1}; }
  void forward_all(std::span<const Tensor> inputs, std::span<Tensor> outputs) const override;
  Ref<Module> copied(PartCopies& parts) const override;

  // As run, on a stream whose last sum may be left to the next block.
  void run_on(Residual& stream, const BlockInputs& inputs) const;

 private:
  enum Part : size_t { kNorm1, kAttention, kNorm2, kFeedForward };

  const RowNormModule& norm(Part index) const noexcept { return static_cast<const RowNormModule&>(part(index)); }
  void forward_pre_norm(Residual& stream, const BlockInputs& inputs) const;
  Tensor forward_post_norm(const Tensor& x, const BlockInputs& inputs) const;
  Tensor attend(const Tensor& input, const BlockInputs& inputs) const;
  Tensor dropped(const Tensor& tensor) const;

  NormPlacement norm_placement_;
  double dropout_;
};

// Blocks one after another, each with the same mask and positions, and its layer of the cache:
// (x[, mask[, cache[, positions]]]) to x. Parts: 0, 1 and so on.
class TransformerStack final : public Composite {
 public:
  TransformerStack(ContextDevice& device, const TransformerOptions& options);

  const char* kind() const noexcept override { return "transformer_stack"; }
  Arity arity() const noexcept override { return {.required_inputs = 1, .inputs = 4, .outputs = 1}; }
  void forward_all(std::span<const Tensor> inputs, std::span<Tensor> outputs) const override;
  Ref<Module> copied(PartCopies& parts) const override;
};

}  // namespace halftone::nn
