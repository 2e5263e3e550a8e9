#include "nn/linear.h"

#include <cmath>

#include "nn/init.h"
#include "nn/part_copies.h"
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

Tensor Linear::forward(const Tensor& input) const {
  return ops::linear(input, weight_->leaf(), bias_ ? bias_->leaf() : Tensor());
}

Tensor Linear::forward_activated(const Tensor& argument, GemmActivation activation) const {
  return ops::activation_linear(argument, weight_->leaf(), bias_ ? bias_->leaf() : Tensor(), activation);
}

void Linear::append_parameters(const std::string& prefix, std::vector<NamedParameter>& out) const {
  out.push_back({prefix + "weight", weight_});
  if (bias_) out.push_back({prefix + "bias", bias_});
}

Ref<Module> Linear::copied(PartCopies& parts) const {
  Ref<Linear> made = make_ref<Linear>(*this);
  made->weight_ = parts.parameter(weight_);
  made->bias_ = parts.parameter(bias_);
  return made;
}

}  // namespace halftone::nn
