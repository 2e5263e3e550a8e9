// Layers without parameters that apply one operation.
#pragma once

#include "nn/module.h"
#include "ops/ops.h"

namespace halftone::nn {

class Relu final : public Module {
 public:
  const char* kind() const noexcept override { return "relu"; }
  Tensor forward(const Tensor& input) const override { return ops::relu(input); }
};

class Silu final : public Module {
 public:
  const char* kind() const noexcept override { return "silu"; }
  Tensor forward(const Tensor& input) const override { return ops::silu(input); }
};

class Sigmoid final : public Module {
 public:
  const char* kind() const noexcept override { return "sigmoid"; }
  Tensor forward(const Tensor& input) const override { return ops::sigmoid(input); }
};

class Tanh final : public Module {
 public:
  const char* kind() const noexcept override { return "tanh"; }
  Tensor forward(const Tensor& input) const override { return ops::tanh(input); }
};

class Gelu final : public Module {
 public:
  explicit Gelu(ops::GeluForm form) : form_(form) {}
  const char* kind() const noexcept override { return "gelu"; }
  Tensor forward(const Tensor& input) const override { return ops::gelu(input, form_); }

 private:
  ops::GeluForm form_;
};

}  // namespace halftone::nn
