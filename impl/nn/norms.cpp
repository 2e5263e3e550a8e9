#include "nn/norms.h"

#include <cinttypes>

#include "core/error.h"
#include "nn/init.h"
#include "nn/part_copies.h"
#include "tensor/factory.h"

namespace halftone::nn {

namespace {

// The operation refuses inputs without channels.
void require_channels(const Tensor& input, int64_t channels) {
  if (input.rank() < 2 || input.size(1) == channels) return;
  fail(Code::kShapeMismatch, "input", "input %s does not have the layer's %" PRId64 " channels",
       ShapeText(input.shape()).text, channels);
}

}  // namespace

Affine Affine::make(ContextDevice& device, const Shape& shape, DType dtype, bool has_weight, bool has_bias) {
  Affine affine;
  if (has_weight) affine.weight = constant_parameter(device, "weight", dtype, shape, 1.0);
  if (has_bias) affine.bias = constant_parameter(device, "bias", dtype, shape, 0.0);
  return affine;
}

void Affine::append(const std::string& prefix, std::vector<NamedParameter>& out) const {
  if (weight) out.push_back({prefix + "weight", weight});
  if (bias) out.push_back({prefix + "bias", bias});
}

void AffineModule::own_affine(AffineModule& made, PartCopies& parts) {
  made.affine_ = {.weight = parts.parameter(made.affine_.weight), .bias = parts.parameter(made.affine_.bias)};
}

Ref<Module> LayerNorm::copied(PartCopies& parts) const {
  Ref<LayerNorm> made = make_ref<LayerNorm>(*this);
  own_affine(*made, parts);
  return made;
}

Ref<Module> RmsNorm::copied(PartCopies& parts) const {
  Ref<RmsNorm> made = make_ref<RmsNorm>(*this);
  own_affine(*made, parts);
  return made;
}

Ref<Module> GroupNorm::copied(PartCopies& parts) const {
  Ref<GroupNorm> made = make_ref<GroupNorm>(*this);
  own_affine(*made, parts);
  return made;
}

Tensor LayerNorm::forward(const Tensor& input) const {
  return ops::layer_norm(input, normalized_shape_, affine_.weight_leaf(), affine_.bias_leaf(), epsilon_);
}

ops::SumAndNorm LayerNorm::forward_sum(const Tensor& input, const Tensor& residual, std::optional<DType> result) const {
  return ops::add_layer_norm_as(result, input, residual, normalized_shape_, affine_.weight_leaf(), affine_.bias_leaf(),
                                epsilon_);
}

Tensor RmsNorm::forward(const Tensor& input) const {
  return ops::rms_norm(input, normalized_shape_, affine_.weight_leaf(), epsilon_);
}

ops::SumAndNorm RmsNorm::forward_sum(const Tensor& input, const Tensor& residual, std::optional<DType> result) const {
  return ops::add_rms_norm_as(result, input, residual, normalized_shape_, affine_.weight_leaf(), epsilon_);
}

Tensor GroupNorm::forward(const Tensor& input) const {
  require_channels(input, channels_);
  return ops::group_norm(input, groups_, affine_.weight_leaf(), affine_.bias_leaf(), epsilon_);
}

Tensor InstanceNorm::forward(const Tensor& input) const {
  require_channels(input, channels_);
  return ops::instance_norm(input, affine_.weight_leaf(), affine_.bias_leaf(), epsilon_);
}

}  // namespace halftone::nn
