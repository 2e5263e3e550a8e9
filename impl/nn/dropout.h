// Dropout as a layer: the identity in evaluation mode.
#pragma once

#include "nn/layer.h"
#include "ops/random/dropout.h"

namespace halftone::nn {

class Dropout final : public Layer {
 public:
  explicit Dropout(double p) : p_(p) {}
  const char* kind() const noexcept override { return "dropout"; }
  Ref<Module> copied(PartCopies&) const override { return make_ref<Dropout>(*this); }
  Tensor forward(const Tensor& input) const override { return ops::dropout(input, p_, is_training()); }

 private:
  double p_;
};

}  // namespace halftone::nn
