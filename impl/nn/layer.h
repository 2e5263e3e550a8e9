// A module of one input and one output. Most modules are layers; those with further inputs or outputs derive from
// Module itself.
#pragma once

#include "nn/module.h"

namespace halftone::nn {

class Layer : public Module {
 public:
  // The layer's computation.
  virtual Tensor forward(const Tensor& input) const = 0;

  Arity arity() const noexcept final { return {}; }
  void forward_all(std::span<const Tensor> inputs, std::span<Tensor> outputs) const final {
    outputs[0] = forward(inputs[0]);
  }

 protected:
  // parameter_place of a layer with a weight and a bias.
  static Ref<Parameter>* place_of(std::string_view name, Ref<Parameter>& weight, Ref<Parameter>& bias) noexcept {
    if (name == "weight") return &weight;
    return name == "bias" ? &bias : nullptr;
  }
};

}  // namespace halftone::nn
