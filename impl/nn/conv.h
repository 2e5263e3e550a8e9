// Convolution layers.
#pragma once

#include "nn/module.h"
#include "ops/conv/conv.h"

namespace halftone::nn {

using ConvOp = Tensor (*)(const Tensor& input, const Tensor& weight, const Tensor& bias, const ops::ConvOptions&);

// The shapes and dtype of a convolution layer's parameters.
struct ConvParameters {
  Shape weight;  // as the operation wants it
  int64_t out_channels;
  bool bias;
  DType dtype;
};

class Conv final : public Module {
 public:
  // Draws weight and bias from U(-1/sqrt(fan), 1/sqrt(fan)), PyTorch's default, fan being the size of weight[0]; each
  // from a stream of its own of the context's seed.
  Conv(ContextDevice& device, Op kind, ConvOp op, const ConvParameters& parameters, const ops::ConvOptions& options);

  const char* kind() const noexcept override { return name_of(kind_); }
  Ref<Module> copied(PartCopies& parts) const override;
  Tensor forward(const Tensor& input) const override;
  void append_parameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

 private:
  Op kind_;
  ConvOp op_;
  ops::ConvOptions options_;
  Ref<Parameter> weight_;
  Ref<Parameter> bias_;  // null where there is none
};

}  // namespace halftone::nn
