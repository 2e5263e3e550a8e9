#include "nn/transformer/transformer.h"

#include <array>
#include <utility>

#include "core/error.h"
#include "nn/embedding.h"
#include "nn/init.h"
#include "nn/linear.h"
#include "nn/part_copies.h"
#include "nn/transformer/block.h"
#include "ops/ops.h"
#include "tensor/arange.h"

namespace halftone::nn {

namespace {

Ref<Module> normal_embedding(ContextDevice& device, int64_t count, const TransformerOptions& options) {
  const AttentionModuleOptions& shared = options.attention;
  return make_ref<Embedding>(normal_parameter(device, "weight", shared.dtype, {count, shared.width}, kWeightStd));
}

}  // namespace

Transformer::Transformer(ContextDevice& device, const TransformerOptions& options)
    : positions_(options.positions),
      dropout_(options.attention.dropout),
      has_final_norm_(options.norm_placement == NormPlacement::kPre),
      head_(options.head) {
  const AttentionModuleOptions& shared = options.attention;
  add_part("wte", normal_embedding(device, options.vocabulary, options));
  add_part("wpe", normal_embedding(device, options.positions, options));
  add_part("h", make_ref<TransformerStack>(device, options));
  if (has_final_norm_) add_part("ln_f", make_norm(device, options));
  if (head_ != OutputHead::kOwn) return;
  add_part("lm_head", Linear::normal(device, shared.width, options.vocabulary, false, shared.dtype, kWeightStd));
}

void Transformer::require_tokens(const Tensor& tokens) const {
  if (tokens.rank() != 2) {
    fail(Code::kShapeMismatch, "input", "input %s, expected tokens [batch, time]", ShapeText(tokens.shape()).text);
  }
  if (tokens.size(1) > positions_) {
    fail(Code::kShapeMismatch, "input", "input %s has %lld tokens in a row, more than the positions=%lld of the model",
         ShapeText(tokens.shape()).text, static_cast<long long>(tokens.size(1)), static_cast<long long>(positions_));
  }
}

Tensor Transformer::embedded(const Tensor& tokens) const {
  const Tensor places =
      arange(tokens.device(), DType::kI64, {.start = 0.0, .end = static_cast<double>(tokens.size(1)), .step = 1.0});
  const Tensor sum = ops::add(part(kTokens).run(tokens), part(kPositions).run(places));
  return ops::dropout(sum, dropout_, is_training());
}

Tensor Transformer::logits(const Tensor& x) const {
  if (head_ == OutputHead::kOwn) return part(part_count() - 1).run(x);
  return ops::linear(x, static_cast<const Embedding&>(part(kTokens)).weight()->leaf(), Tensor());
}

void Transformer::forward_all(std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  require_tokens(inputs[0]);
  Tensor x;
  part(kBlocks).run(std::array{embedded(inputs[0]), inputs[1]}, {&x, 1});
  if (has_final_norm_) x = part(kFirstOfOthers).run(x);
  outputs[0] = head_ == OutputHead::kNone ? x : logits(x);
}

Ref<Module> Transformer::copied(PartCopies& parts) const {
  Ref<Transformer> made = make_ref<Transformer>(*this);
  own_parts(*made, parts);
  return made;
}

}  // namespace halftone::nn
