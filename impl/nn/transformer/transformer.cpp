#include "nn/transformer/transformer.h"

#include <array>
#include <limits>
#include <utility>

#include "core/error.h"
#include "nn/embedding.h"
#include "nn/init.h"
#include "nn/linear.h"
#include "nn/part_copies.h"
#include "nn/transformer/block.h"
#include "nn/transformer/cache.h"
#include "nn/transformer/positions.h"
#include "ops/dispatch/autocast.h"
#include "ops/ops.h"
#include "tensor/arange.h"
#include "tensor/factory.h"

namespace halftone::nn {

namespace {

Ref<Module> normal_embedding(ContextDevice& device, int64_t count, const TransformerOptions& options) {
  const AttentionModuleOptions& shared = options.attention;
  return make_ref<Embedding>(normal_parameter(device, "weight", shared.dtype, {count, shared.width}, kWeightStd));
}

void require_in_range(int64_t count, int64_t most, const char* argument) {
  if (count >= 1 && count <= most) return;
  fail(Code::kInvalidArgument, argument, "%s=%lld, expected 1 to %lld", argument, static_cast<long long>(count),
       static_cast<long long>(most));
}

}  // namespace

Transformer::Transformer(ContextDevice& device, const TransformerOptions& options) : options_(options) {
  const AttentionModuleOptions& shared = options.attention;
  add_part("wte", normal_embedding(device, options.vocabulary, options));
  if (learns_positions()) add_part("wpe", normal_embedding(device, options.positions, options));
  add_part("h", make_ref<TransformerStack>(device, options));
  if (has_final_norm()) add_part("ln_f", make_norm(device, options));
  if (options.head != OutputHead::kOwn) return;
  add_part("lm_head", Linear::normal(device, shared.width, options.vocabulary, false, shared.dtype, kWeightStd));
}

Tensor Transformer::make_cache(int64_t batch, int64_t positions, DType dtype) const {
  const AttentionModuleOptions& shared = options_.attention;
  if (!shared.is_causal) fail(Code::kUnsupported, "module", "module is not causal, so it can have no cache");
  require_in_range(batch, std::numeric_limits<int64_t>::max(), "batch");
  require_in_range(positions, most_positions(), "positions");
  const int64_t sizes[] = {options_.layers, 2, batch, shared.kv_heads, positions, shared.width / shared.heads};
  return full(token_weight().device(), dtype, checked_shape(sizes, std::size(sizes), "batch"), 0.0);
}

DType Transformer::cache_dtype() const {
  const DType own = token_weight().dtype();
  return autocast_operand_dtype(Op::kLinear, own, own);
}

int64_t Transformer::most_positions() const noexcept {
  return learns_positions() ? options_.positions : std::numeric_limits<int64_t>::max();
}

const Ref<Parameter>& Transformer::token_parameter() const {
  return static_cast<const Embedding&>(part(kTokens)).weight();
}

void Transformer::append_aliases(const std::string& prefix, std::vector<NamedParameter>& out) const {
  if (options_.head == OutputHead::kTied) out.push_back({prefix + "lm_head.weight", token_parameter()});
}

void Transformer::require_tokens(const Tensor& tokens) const {
  if (tokens.rank() == 2) return;
  fail(Code::kShapeMismatch, "input", "input %s, expected tokens [batch, time]", ShapeText(tokens.shape()).text);
}

void Transformer::require_room(const Tensor& tokens, int64_t past) const {
  const int64_t end = past + tokens.size(1);
  if (end <= most_positions()) return;
  fail(Code::kShapeMismatch, "input", "input %s has %lld tokens in a row%s, more than the positions=%lld of the model",
       ShapeText(tokens.shape()).text, static_cast<long long>(end), past > 0 ? " with those of the cache" : "",
       static_cast<long long>(options_.positions));
}

void Transformer::require_positions(const Tensor& positions, const Tensor& tokens) const {
  if (!has_positions()) {
    fail(Code::kUnsupported, "positions", "positions for a model that has none, expected learned or rotary positions");
  }
  require_token_positions(positions, tokens);
}

Tensor Transformer::embedded(const Tensor& tokens, const Tensor& positions, int64_t past) const {
  Tensor sum = part(kTokens).run(tokens);
  if (learns_positions()) {
    const auto first = static_cast<double>(past);
    const Arange range = {.start = first, .end = first + static_cast<double>(tokens.size(1)), .step = 1.0};
    const Tensor places = positions.defined() ? positions : arange(tokens.device(), DType::kI64, range);
    sum = ops::add(sum, part(kPositions).run(places));
  }
  return ops::dropout(sum, dropout(), is_training());
}

Tensor Transformer::logits(const Tensor& x) const {
  if (options_.head == OutputHead::kOwn) return part(part_count() - 1).run(x);
  return ops::linear(x, token_weight(), Tensor());
}

void Transformer::forward_all(std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  const Tensor &tokens = inputs[0], &cache = inputs[2], &positions = inputs[3];
  require_tokens(tokens);
  if (cache.defined()) require_cache(cache, options_.layers, tokens.size(1));
  const int64_t past = cache.defined() ? past_of(cache, tokens.size(1)) : 0;
  if (positions.defined()) {
    require_positions(positions, tokens);
  } else {
    require_room(tokens, past);
  }
  const Tensor rotary = learns_positions() ? Tensor() : positions;
  Tensor x;
  blocks().run(std::array{embedded(tokens, positions, past), inputs[1], cache, rotary}, {&x, 1});
  if (has_final_norm()) x = final_norm().run(x);
  outputs[0] = options_.head == OutputHead::kNone ? x : logits(x);
}

Ref<Module> Transformer::copied(PartCopies& parts) const {
  Ref<Transformer> made = make_ref<Transformer>(*this);
  own_parts(*made, parts);
  return made;
}

}  // namespace halftone::nn
