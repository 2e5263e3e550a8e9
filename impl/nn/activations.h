// Layers without parameters that apply one operation.
#pragma once

#include "nn/layer.h"
#include "ops/elementwise/elementwise.h"

namespace halftone::nn {

class Relu final : public Layer {
 public:
  const char* kind() const noexcept override { return "relu"; }
  Ref<Module> copied(PartCopies&) const override { return make_ref<Relu>(*this); }
  Tensor forward(const Tensor& input) const override { return ops::relu(input); }
};

class Silu final : public Layer {
 public:
  const char* kind() const noexcept override { return "silu"; }
  Ref<Module> copied(PartCopies&) const override { return make_ref<Silu>(*this); }
  Tensor forward(const Tensor& input) const override { return ops::silu(input); }
};

class Sigmoid final : public Layer {
 public:
  const char* kind() const noexcept override { return "sigmoid"; }
  Ref<Module> copied(PartCopies&) const override { return make_ref<Sigmoid>(*this); }
  Tensor forward(const Tensor& input) const override { return ops::sigmoid(input); }
};

class Tanh final : public Layer {
 public:
  const char* kind() const noexcept override { return "tanh"; }
  Ref<Module> copied(PartCopies&) const override { return make_ref<Tanh>(*this); }
  Tensor forward(const Tensor& input) const override { return ops::tanh(input); }
};

class Gelu final : public Layer {
 public:
  explicit Gelu(ops::GeluForm form) : form_(form) {}
  const char* kind() const noexcept override { return "gelu"; }
  Ref<Module> copied(PartCopies&) const override { return make_ref<Gelu>(*this); }
  Tensor forward(const Tensor& input) const override { return ops::gelu(input, form_); }

 private:
  ops::GeluForm form_;
};

}  // namespace halftone::nn
