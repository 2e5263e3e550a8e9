#include "nn/transformer/attention.h"

#include <array>

#include "core/error.h"
#include "nn/init.h"
#include "nn/linear.h"
#include "nn/part_copies.h"
#include "nn/transformer/cache.h"
#include "nn/transformer/positions.h"
#include "ops/dispatch/check.h"
#include "ops/ops.h"

namespace halftone::nn {

MultiheadAttention::MultiheadAttention(ContextDevice& device, const AttentionModuleOptions& options, double output_std)
    : options_(options) {
  const int64_t rows = options.width + 2 * options.kv_heads * depth();
  add_part("c_attn", Linear::normal(device, options.width, rows, options.bias, options.dtype, kWeightStd));
  add_part("c_proj", Linear::normal(device, options.width, options.width, options.bias, options.dtype, output_std));
}

void MultiheadAttention::require_sequence(const Tensor& sequence, const Tensor& query, const char* argument) const {
  if (sequence.rank() != 3 || sequence.size(2) != options_.width || query.rank() != 3 ||
      sequence.size(0) != query.size(0)) {
    fail(Code::kShapeMismatch, argument, "%s %s, expected [batch, time, %lld] with one batch for all", argument,
         ShapeText(sequence.shape()).text, static_cast<long long>(options_.width));
  }
}

void MultiheadAttention::require_sequences(const Operands& inputs) const {
  require_sequence(inputs.query, inputs.query, "query");
  require_sequence(inputs.key, inputs.query, "key");
  require_sequence(inputs.value, inputs.query, "value");
  if (inputs.value.size(1) == inputs.key.size(1)) return;
  fail(Code::kShapeMismatch, "value", "value %s has another time than key %s", ShapeText(inputs.value.shape()).text,
       ShapeText(inputs.key.shape()).text);
}

void MultiheadAttention::require_cacheable(const Tensor& cache, const Tensor& query, bool is_self) const {
  if (!options_.is_causal || !is_self) {
    fail(Code::kUnsupported, "cache", "cache for attention %s: only causal attention of a sequence to itself has one",
         is_self ? "that is not causal" : "to another sequence");
  }
  require_same_device(query, "query", cache, "cache");
  require_layer_cache(cache,
                      {.batch = query.size(0), .kv_heads = options_.kv_heads, .time = query.size(1), .depth = depth()});
}

void MultiheadAttention::require_positions(const Tensor& positions, const Tensor& query, bool is_self) const {
  const bool is_rotary = options_.position_kind == PositionKind::kRotary;
  if (!is_rotary || !is_self) {
    fail(Code::kUnsupported, "positions",
         "positions for attention %s: only rotary attention of a sequence to itself "
         "has such",
         is_rotary ? "to another sequence" : "that is not rotary");
  }
  require_token_positions(positions, query);
}

MultiheadAttention::Operands MultiheadAttention::self_projections(const Tensor& sequence) const {
  const int64_t kv_width = options_.kv_heads * depth();
  std::array<Tensor, 3> all;
  ops::split_into(all, part(kProjections).run(sequence), 2, std::array{options_.width, kv_width, kv_width});
  return {all[0], all[1], all[2]};
}

MultiheadAttention::Operands MultiheadAttention::cross_projections(const Operands& inputs) const {
  const auto& projections = static_cast<const Linear&>(part(kProjections));
  const std::array<int64_t, 3> rows = {options_.width, options_.kv_heads * depth(), options_.kv_heads * depth()};
  std::array<Tensor, 3> weights, biases;
  ops::split_into(weights, projections.weight()->leaf(), 0, rows);
  if (projections.bias()) ops::split_into(biases, projections.bias()->leaf(), 0, rows);
  return {ops::linear(inputs.query, weights[0], biases[0]), ops::linear(inputs.key, weights[1], biases[1]),
          ops::linear(inputs.value, weights[2], biases[2])};
}

// [batch, time, heads * depth] to [batch, heads, time, depth], a view.
Tensor MultiheadAttention::split_heads(const Tensor& projected, int64_t heads) const {
  return ops::transpose(ops::reshape(projected, {projected.size(0), projected.size(1), heads, depth()}), 1, 2);
}

MultiheadAttention::Operands MultiheadAttention::as_heads(const Operands& projected, const Tensor& positions,
                                                          int64_t past) const {
  Operands heads = {split_heads(projected.query, options_.heads), split_heads(projected.key, options_.kv_heads),
                    split_heads(projected.value, options_.kv_heads)};
  if (options_.position_kind != PositionKind::kRotary) return heads;
  const Rotary rotary = {.base = options_.rotary_base, .is_interleaved = options_.rotary_interleaved, .offset = past};
  // [batch, 1, time]: the same for every head.
  const Tensor places = positions.defined() && positions.rank() == 2 ? ops::unsqueeze(positions, 1) : positions;
  heads.query = ops::rotary_embedding(heads.query, places, rotary);
  heads.key = ops::rotary_embedding(heads.key, places, rotary);
  return heads;
}

void MultiheadAttention::forward_all(std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  const Tensor &query = inputs[kQuery], &cache = inputs[kCache];
  const bool is_self = !inputs[kKey].defined() && !inputs[kValue].defined();
  const Tensor& key = inputs[kKey].defined() ? inputs[kKey] : query;
  const Operands sequences = {query, key, inputs[kValue].defined() ? inputs[kValue] : key};
  require_sequences(sequences);
  if (cache.defined()) require_cacheable(cache, query, is_self);
  if (inputs[kPositions].defined()) require_positions(inputs[kPositions], query, is_self);
  const int64_t past = cache.defined() ? past_of(cache, query.size(1)) : 0;
  Operands heads = as_heads(is_self ? self_projections(query) : cross_projections(sequences), inputs[kPositions], past);
  if (cache.defined()) {
    require_unrecorded({&heads.query, &heads.key, &heads.value});
    heads.key = cached(heads.key, cache_part(cache, 0));
    heads.value = cached(heads.value, cache_part(cache, 1));
  }
  const Tensor attended = ops::scaled_dot_product_attention(
      heads.query, heads.key, heads.value, inputs[kMask],
      {.is_causal = options_.is_causal, .causal_offset = past, .dropout = is_training() ? options_.dropout : 0.0});
  const Tensor merged = ops::reshape(ops::transpose(attended, 1, 2), query.shape());
  outputs[0] = part(kOutput).run(merged);
}

Ref<Module> MultiheadAttention::copied(PartCopies& parts) const {
  Ref<MultiheadAttention> made = make_ref<MultiheadAttention>(*this);
  own_parts(*made, parts);
  return made;
}

}  // namespace halftone::nn
