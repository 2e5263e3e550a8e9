#include "nn/transformer/block.h"

#include <array>
#include <cmath>
#include <functional>

#include "nn/norms.h"
#include "nn/part_copies.h"
#include "nn/transformer/attention.h"
#include "nn/transformer/cache.h"
#include "nn/transformer/feed_forward.h"
#include "ops/ops.h"

namespace halftone::nn {

Ref<Module> make_norm(ContextDevice& device, const TransformerOptions& options) {
  const Shape shape = {options.attention.width};
  const bool is_layer_norm = options.norm_kind == NormKind::kLayer;
  Affine affine = Affine::make(device, shape, options.attention.dtype, true, is_layer_norm && options.attention.bias);
  if (is_layer_norm) return make_ref<LayerNorm>(shape, options.epsilon, std::move(affine));
  return make_ref<RmsNorm>(shape, options.epsilon, std::move(affine));
}

TransformerBlock::TransformerBlock(ContextDevice& device, const TransformerOptions& options)
    : norm_placement_(options.norm_placement), dropout_(options.attention.dropout) {
  const double output_std = kWeightStd / std::sqrt(2.0 * static_cast<double>(options.layers));
  add_part("ln_1", make_norm(device, options));
  add_part("attn", make_ref<MultiheadAttention>(device, options.attention, output_std));
  add_part("ln_2", make_norm(device, options));
  add_part("mlp", make_ref<FeedForward>(device, options, output_std));
}

Tensor TransformerBlock::attend(const Tensor& input, const BlockInputs& inputs) const {
  Tensor output;
  part(kAttention)
      .run(std::array{input, Tensor(), Tensor(), inputs.mask, inputs.cache, inputs.positions}, {&output, 1});
  return output;
}

Tensor TransformerBlock::dropped(const Tensor& tensor) const { return ops::dropout(tensor, dropout_, is_training()); }

void TransformerBlock::forward_all(std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  const BlockInputs others = {inputs[1], inputs[2], inputs[3]};
  if (norm_placement_ == NormPlacement::kPre) {
    Residual stream(inputs[0]);
    forward_pre_norm(stream, others);
    outputs[0] = stream.sum();
  } else {
    outputs[0] = forward_post_norm(inputs[0], others);
  }
}

void TransformerBlock::forward_pre_norm(Residual& stream, const BlockInputs& inputs) const {
  stream.add(dropped(attend(stream.normalized_for(part(kAttention), norm(kNorm1)), inputs)));
  const auto& feed_forward = static_cast<const FeedForward&>(part(kFeedForward));
  const Tensor middle =
      feed_forward.reads_once() ? stream.normalized_for(feed_forward, norm(kNorm2)) : stream.normalized(norm(kNorm2));
  stream.add(dropped(feed_forward.run(middle)));
}

Tensor TransformerBlock::forward_post_norm(const Tensor& x, const BlockInputs& inputs) const {
  Residual attended(x);
  attended.add(dropped(attend(x, inputs)));
  const Tensor middle = attended.normalized(norm(kNorm1));
  Residual fed(middle);
  fed.add(dropped(part(kFeedForward).run(middle)));
  return fed.normalized(norm(kNorm2));
}

void TransformerBlock::run_on(Residual& stream, const BlockInputs& inputs) const {
  if (norm_placement_ == NormPlacement::kPre && may_be_fused()) {
    const auto compute = [&] { forward_pre_norm(stream, inputs); };
    run_fused(std::ref(compute));
    return;
  }
  Tensor result;
  run(std::array{stream.sum(), inputs.mask, inputs.cache, inputs.positions}, {&result, 1});
  stream = Residual(std::move(result));
}

Ref<Module> TransformerBlock::copied(PartCopies& parts) const {
  Ref<TransformerBlock> made = make_ref<TransformerBlock>(*this);
  own_parts(*made, parts);
  return made;
}

TransformerStack::TransformerStack(ContextDevice& device, const TransformerOptions& options) {
  for (int64_t i = 0; i < options.layers; ++i) add_part(std::to_string(i), make_ref<TransformerBlock>(device, options));
}

void TransformerStack::forward_all(std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
  Residual stream(inputs[0]);
  const Tensor& cache = inputs[2];
  if (cache.defined()) require_cache(cache, static_cast<int64_t>(part_count()), 0);
  for (size_t i = 0; i < part_count(); ++i) {
    const Tensor own = cache.defined() ? cache_part(cache, static_cast<int64_t>(i)) : Tensor();
    static_cast<const TransformerBlock&>(part(i)).run_on(stream, {inputs[1], own, inputs[3]});
  }
  outputs[0] = stream.sum();
}

Ref<Module> TransformerStack::copied(PartCopies& parts) const {
  Ref<TransformerStack> made = make_ref<TransformerStack>(*this);
  own_parts(*made, parts);
  return made;
}

}  // namespace halftone::nn
