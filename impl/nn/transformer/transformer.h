// A whole transformer over tokens: a language model as GPT-2, or an encoder.
#pragma once

#include "nn/composite.h"
#include "nn/transformer/options.h"

namespace halftone::nn {

// (tokens [batch, time][, mask]) to [batch, time, vocabulary], or [batch, time, width] without a head. Parts, with the
// names of GPT-2's published tensors: wte and wpe, the embeddings of tokens and positions; h, the blocks; ln_f, the
// last norm, where norms are before their parts; lm_head, where the head is its own. A tied head is the weight of wte
// and has no part, so that the weight has one name.
class Transformer final : public Composite {
 public:
  Transformer(ContextDevice& device, const TransformerOptions& options);

  const char* kind() const noexcept override { return "transformer"; }
  Arity arity() const noexcept override { return {.required_inputs = 1, .inputs = 2, .outputs = 1}; }
  void forward_all(std::span<const Tensor> inputs, std::span<Tensor> outputs) const override;
  Ref<Module> copied(PartCopies& parts) const override;

 private:
  enum Part : size_t { kTokens, kPositions, kBlocks, kFirstOfOthers };

  // Throws SHAPE_MISMATCH naming "input".
  void require_tokens(const Tensor& tokens) const;
  Tensor embedded(const Tensor& tokens) const;
  Tensor logits(const Tensor& x) const;

  int64_t positions_;
  double dropout_;
  bool has_final_norm_;
  OutputHead head_;
};

}  // namespace halftone::nn
