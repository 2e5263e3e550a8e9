// Convolution layers.
#pragma once

#include <functional>

#include "nn/layer.h"
#include "ops/dispatch/op.h"

namespace halftone::nn {

// The operation of a layer with its options.
using ConvOp = std::function<Tensor(const Tensor& input, const Tensor& weight, const Tensor& bias)>;

// The shapes and dtype of a convolution layer's parameters.
struct ConvParameters {
  Shape weight;  // as the operation wants it
  int64_t out_channels;
  bool bias;
  DType dtype;
};

class Conv final : public Layer {
 public:
  // Draws weight and bias from U(-1/sqrt(fan), 1/sqrt(fan)), PyTorch's default, fan being the size of weight[0]; each
  // from a stream of its own of the context's seed.
  Conv(ContextDevice& device, Op kind, ConvOp op, const ConvParameters& parameters);

  const char* kind() const noexcept override { return name_of(kind_); }
  Ref<Module> copied(PartCopies& parts) const override;
  Tensor forward(const Tensor& input) const override;
  void append_parameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

 private:
  Ref<Parameter>* parameter_place(std::string_view name) noexcept override { return place_of(name, weight_, bias_); }

  Op kind_;
  ConvOp op_;
  Ref<Parameter> weight_;
  Ref<Parameter> bias_;  // null where there is none
};

}  // namespace halftone::nn
