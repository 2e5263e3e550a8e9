#include "nn/linear.h"

#include <cmath>

#include "autograd/weights/weights.h"
#include "core/error.h"
#include "nn/init.h"
#include "nn/part_copies.h"
#include "ops/dispatch/autocast.h"
#include "ops/matmul/layer_codes.h"
#include "ops/ops.h"

namespace halftone::nn {

Linear::Linear(ContextDevice& device, int64_t in_features, int64_t out_features, bool bias, DType dtype) {
  // Kaiming uniform with a = sqrt(5): gain sqrt(2 / (1 + 5)) times sqrt(3 / fan_in) is 1 / sqrt(fan_in).
  const double bound = 1.0 / std::sqrt(static_cast<double>(in_features));
  weight_ = uniform_parameter(device, "weight", dtype, {out_features, in_features}, bound);
  if (bias) bias_ = uniform_parameter(device, "bias", dtype, {out_features}, bound);
}

Ref<Linear> Linear::normal(ContextDevice& device, int64_t in_features, int64_t out_features, bool bias, DType dtype,
                           double std) {
  Ref<Parameter> weight = normal_parameter(device, "weight", dtype, {out_features, in_features}, std);
  return make_ref<Linear>(std::move(weight),
                          bias ? constant_parameter(device, "bias", dtype, {out_features}, 0.0) : nullptr);
}

void Linear::require_history(Op op) const {
  const Recipe* const recipe = recipe_in_force(op, weight_->weights().kept().dtype());
  if (recipe == nullptr || recipe->options().kind != RecipeKind::kDelayed ||
      history_in_force(*recipe).scales.defined()) {
    return;
  }
  fail(Code::kState, "module",
       "delayed scaling needs a history in each linear layer; give them the recipe with set_recipe_matching, too");
}

Tensor Linear::forward(const Tensor& input) const {
  require_history(Op::kLinear);
  return ops::linear(input, weight_->leaf(), bias_ ? bias_->leaf() : Tensor());
}

Tensor Linear::forward_activated(const Tensor& argument, GemmActivation activation) const {
  require_history(Op::kActivationLinear);
  return ops::activation_linear(argument, weight_->leaf(), bias_ ? bias_->leaf() : Tensor(), activation);
}

void Linear::append_parameters(const std::string& prefix, std::vector<NamedParameter>& out) const {
  out.push_back({prefix + "weight", weight_});
  if (bias_) out.push_back({prefix + "bias", bias_});
}

void Linear::append_buffers(const std::string& prefix, std::vector<NamedBuffer>& out) const {
  if (!own_recipe() || !own_recipe()->history.scales.defined()) return;
  out.push_back({prefix + "amax_history", own_recipe()->history.magnitudes, BufferRole::kAmaxHistory});
  out.push_back({prefix + "amax_scale", own_recipe()->history.scales, BufferRole::kAmaxScales});
}

Ref<Module> Linear::copied(PartCopies& parts) const {
  Ref<Linear> made = make_ref<Linear>(*this);
  made->weight_ = parts.parameter(weight_);
  made->bias_ = parts.parameter(bias_);
  if (own_recipe() && own_recipe()->history.scales.defined()) {
    const AmaxHistory& history = own_recipe()->history;
    made->set_own_recipe(make_ref<OwnRecipe>(
        own_recipe()->recipe,
        AmaxHistory{.magnitudes = parts.buffer(history.magnitudes), .scales = parts.buffer(history.scales)}));
  }
  return made;
}

}  // namespace halftone::nn
