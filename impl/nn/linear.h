// The fully connected layer.
#pragma once

#include <utility>

#include "backend/kernels/gemm.h"
#include "nn/layer.h"
#include "ops/dispatch/op.h"

namespace halftone::nn {

class Linear final : public Layer {
 public:
  // Draws weight [out, in] and bias [out] from U(-1/sqrt(in), 1/sqrt(in)), PyTorch's default, each from its own random
  // sequence of the context.
  Linear(ContextDevice& device, int64_t in_features, int64_t out_features, bool bias, DType dtype);

  // Uses parameters that other modules may hold as well: tied weights. REQUIRES: weight [out, in]; bias [out] or null.
  Linear(Ref<Parameter> weight, Ref<Parameter> bias) : weight_(std::move(weight)), bias_(std::move(bias)) {}
  // Draws weight from N(0, std); bias begins as 0.
  static Ref<Linear> normal(ContextDevice& device, int64_t in_features, int64_t out_features, bool bias, DType dtype,
                            double std);

  const char* kind() const noexcept override { return "linear"; }
  Ref<Module> copied(PartCopies& parts) const override;
  Tensor forward(const Tensor& input) const override;
  // forward(activation(argument)) in one operation, which keeps the argument alone.
  Tensor forward_activated(const Tensor& argument, GemmActivation activation) const;
  void append_parameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;
  void append_buffers(const std::string& prefix, std::vector<NamedBuffer>& out) const override;
  ContextDevice* product_device() const noexcept override { return &weight_->device(); }

  const Ref<Parameter>& weight() const noexcept { return weight_; }
  const Ref<Parameter>& bias() const noexcept { return bias_; }

 private:
  // Throws STATE where delayed scaling is in force and the layer has no history.
  void require_history(Op op) const;
  Ref<Parameter>* parameter_place(std::string_view name) noexcept override { return place_of(name, weight_, bias_); }

  Ref<Parameter> weight_;
  Ref<Parameter> bias_;  // null where there is none
};

}  // namespace halftone::nn
