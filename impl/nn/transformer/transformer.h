// A whole transformer over tokens: a language model as GPT-2, or an encoder.
#pragma once

#include "nn/composite.h"
#include "nn/transformer/options.h"

namespace halftone::nn {

// (tokens [batch, time][, mask[, cache[, positions]]]) to [batch, time, vocabulary], or [batch, time, width] without a
// head. With a cache (cache.h) the tokens follow those whose keys and values it has. Positions, which broadcast to
// [batch, time], are those of the tokens; without them a row counts from the first token of the cache on. Parts, with
// the names of GPT-2's published tensors: wte, the embedding of tokens; wpe, that of positions, where they are learned;
// h, the blocks; ln_f, the last norm, where norms are before their parts; lm_head, where the head is its own. A tied
// head is the weight of wte and has no part, so that the weight has one name; a file may have it as lm_head.weight,
// too.
class Transformer final : public Composite {
 public:
  Transformer(ContextDevice& device, const TransformerOptions& options);

  const char* kind() const noexcept override { return "transformer"; }
  Arity arity() const noexcept override { return {.required_inputs = 1, .inputs = 4, .outputs = 1}; }
  void forward_all(std::span<const Tensor> inputs, std::span<Tensor> outputs) const override;
  Ref<Module> copied(PartCopies& parts) const override;
  void append_aliases(const std::string& prefix, std::vector<NamedParameter>& out) const override;

  // True if results with a cache are those without: the model is causal, and no dropout acts.
  bool can_cache() const noexcept { return options_.attention.is_causal && !(is_training() && dropout() > 0.0); }
  // A cache of zeros for so many positions. Throws INVALID_ARGUMENT naming "batch" or "positions", UNSUPPORTED naming
  // "module" unless the model is causal.
  Tensor make_cache(int64_t batch, int64_t positions, DType dtype) const;
  // The dtype that keys and values have under this thread's autocast policy.
  DType cache_dtype() const;
  // The most tokens in a row: those of learned positions, else as many as an int64_t counts.
  int64_t most_positions() const noexcept;
  // False if the model takes no positions as an input, since it knows none.
  bool has_positions() const noexcept { return options_.attention.position_kind != PositionKind::kNone; }

 private:
  double dropout() const noexcept { return options_.attention.dropout; }
  bool learns_positions() const noexcept { return options_.attention.position_kind == PositionKind::kLearned; }
  bool has_final_norm() const noexcept { return options_.norm_placement == NormPlacement::kPre; }
  enum Part : size_t { kTokens, kPositions };
  // Parts behind wpe, which may be absent.
  const Module& blocks() const noexcept { return part(learns_positions() ? 2 : 1); }
  const Module& final_norm() const noexcept { return part(learns_positions() ? 3 : 2); }
  const Ref<Parameter>& token_parameter() const;
  Tensor token_weight() const { return token_parameter()->leaf(); }

  // Throw SHAPE_MISMATCH naming "input".
  void require_tokens(const Tensor& tokens) const;
  void require_room(const Tensor& tokens, int64_t past) const;
  // Throws UNSUPPORTED, SHAPE_MISMATCH, DTYPE_MISMATCH or DEVICE naming "positions".
  void require_positions(const Tensor& positions, const Tensor& tokens) const;
  // Without `positions` the tokens' begin with `past`.
  Tensor embedded(const Tensor& tokens, const Tensor& positions, int64_t past) const;
  Tensor logits(const Tensor& x) const;

  TransformerOptions options_;
};

}  // namespace halftone::nn
