#include "nn/transformer/attention.h"

#include "core/error.h"
#include "nn/init.h"
#include "nn/linear.h"
#include "nn/part_copies.h"
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

MultiheadAttention::Projected MultiheadAttention::self_projections(const Tensor& sequence) const {
  const int64_t kv_width = options_.kv_heads * depth();
  const std::vector<Tensor> all = ops::split(part(kProjections).run(sequence), 2, {options_.width, kv_width, kv_width});
  return {all[0], all[1], all[2]};
}

MultiheadAttention::Projected MultiheadAttention::cross_projections(const Tensor& query, const Tensor& key,
                                                                    const Tensor& value) const {
  const auto& projections = static_cast<const Linear&>(part(kProjections));
  const std::vector<int64_t> rows = {options_.width, options_.kv_heads * depth(), options_.kv_heads * depth()};
  const std::vector<Tensor> weights = ops::split(projections.weight()->leaf(), 0, rows);
  std::vector<Tensor> biases(3);
  if (projections.bias()) biases = ops::split(projections.bias()->leaf(), 0, rows);
  return {ops::linear(query, weights[0], biases[0]), ops::linear(key, weights[1], biases[1]),
          ops::linear(value, weights[2], biases[2])};
}

// [batch, time, heads * depth] to [batch, heads, time, depth], a view.
Tensor MultiheadAttention::split_heads(const Tensor& projected, int64_t heads) const {
  return ops::transpose(ops::reshape(projected, {projected.size(0), projected.size(1), heads, depth()}), 1, 2);
}

void MultiheadAttention::forward_all(std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  const Tensor &query = inputs[0], &mask = inputs[3];
  const Tensor& key = inputs[1].defined() ? inputs[1] : query;
  const Tensor& value = inputs[2].defined() ? inputs[2] : key;
  const bool is_self = !inputs[1].defined() && !inputs[2].defined();
  require_sequence(query, query, "query");
  require_sequence(key, query, "key");
  require_sequence(value, query, "value");
  if (value.size(1) != key.size(1)) {
    fail(Code::kShapeMismatch, "value", "value %s has another time than key %s", ShapeText(value.shape()).text,
         ShapeText(key.shape()).text);
  }
  const Projected projected = is_self ? self_projections(query) : cross_projections(query, key, value);
  const Tensor attended = ops::scaled_dot_product_attention(
      split_heads(projected.query, options_.heads), split_heads(projected.key, options_.kv_heads),
      split_heads(projected.value, options_.kv_heads), mask,
      {.is_causal = options_.is_causal, .dropout = is_training() ? options_.dropout : 0.0});
  const Tensor merged = ops::reshape(ops::transpose(attended, 1, 2), query.shape());
  outputs[0] = part(kOutput).run(merged);
}

Ref<Module> MultiheadAttention::copied(PartCopies& parts) const {
  Ref<MultiheadAttention> made = make_ref<MultiheadAttention>(*this);
  own_parts(*made, parts);
  return made;
}

}  // namespace halftone::nn
