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
};

}  // namespace halftone::nn
