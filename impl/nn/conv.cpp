#include "nn/conv.h"

#include <cmath>

#include "nn/init.h"
#include "nn/part_copies.h"

namespace halftone::nn {

Conv::Conv(ContextDevice& device, Op kind, ConvOp op, const ConvParameters& parameters)
    : kind_(kind), op_(std::move(op)) {
  int64_t fan = 1;
  for (int i = 1; i < parameters.weight.rank(); ++i) fan *= parameters.weight[i];
  // Kaiming uniform with a = sqrt(5): gain sqrt(2 / (1 + 5)) times sqrt(3 / fan) is 1 / sqrt(fan).
  const double bound = 1.0 / std::sqrt(static_cast<double>(fan));
  weight_ = uniform_parameter(device, "weight", parameters.dtype, parameters.weight, bound);
  if (parameters.bias) {
    bias_ = uniform_parameter(device, "bias", parameters.dtype, {parameters.out_channels}, bound);
  }
}

Tensor Conv::forward(const Tensor& input) const {
  return op_(input, weight_->leaf(), bias_ ? bias_->leaf() : Tensor());
}

void Conv::append_parameters(const std::string& prefix, std::vector<NamedParameter>& out) const {
  out.push_back({prefix + "weight", weight_});
  if (bias_) out.push_back({prefix + "bias", bias_});
}

Ref<Module> Conv::copied(PartCopies& parts) const {
  Ref<Conv> made = make_ref<Conv>(*this);
  made->weight_ = parts.parameter(weight_);
  made->bias_ = parts.parameter(bias_);
  return made;
}

}  // namespace halftone::nn
