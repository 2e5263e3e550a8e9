// Normalisation layers, with PyTorch's names of parameters and buffers. Weights begin as 1, biases as 0.
#pragma once

#include <optional>

#include "nn/layer.h"
#include "ops/dispatch/op.h"
#include "ops/norm/norms.h"

namespace halftone::nn {

// A weight and a bias by channel or element; null where there is none.
struct Affine {
  Ref<Parameter> weight;
  Ref<Parameter> bias;

  static Affine make(ContextDevice& device, const Shape& shape, DType dtype, bool has_weight, bool has_bias);
  Tensor weight_leaf() const { return weight ? weight->leaf() : Tensor(); }
  Tensor bias_leaf() const { return bias ? bias->leaf() : Tensor(); }
  void append(const std::string& prefix, std::vector<NamedParameter>& out) const;
};

class AffineModule : public Layer {
 public:
  void append_parameters(const std::string& prefix, std::vector<NamedParameter>& out) const override {
    affine_.append(prefix, out);
  }

 protected:
  explicit AffineModule(Affine affine) : affine_(std::move(affine)) {}
  Ref<Parameter>* parameter_place(std::string_view name) noexcept override {
    return place_of(name, affine_.weight, affine_.bias);
  }
  // Gives a copy of a layer a weight and a bias of its own.
  static void own_affine(AffineModule& made, PartCopies& parts);

  Affine affine_;
};

// A norm over the last dimensions, of an input or of a sum that it makes itself.
class RowNormModule : public AffineModule {
 public:
  virtual Op op() const noexcept = 0;
  // The sum of both, which have one shape, and its norm, stored in `result` if that is given.
  virtual ops::SumAndNorm forward_sum(const Tensor& input, const Tensor& residual,
                                      std::optional<DType> result) const = 0;

 protected:
  RowNormModule(const Shape& normalized_shape, double epsilon, Affine affine)
      : AffineModule(std::move(affine)), normalized_shape_(normalized_shape), epsilon_(epsilon) {}

  Shape normalized_shape_;
  double epsilon_;
};

class LayerNorm final : public RowNormModule {
 public:
  LayerNorm(const Shape& normalized_shape, double epsilon, Affine affine)
      : RowNormModule(normalized_shape, epsilon, std::move(affine)) {}
  const char* kind() const noexcept override { return "layer_norm"; }
  Op op() const noexcept override { return Op::kLayerNorm; }
  Ref<Module> copied(PartCopies& parts) const override;
  Tensor forward(const Tensor& input) const override;
  ops::SumAndNorm forward_sum(const Tensor& input, const Tensor& residual, std::optional<DType> result) const override;
};

class RmsNorm final : public RowNormModule {
 public:
  RmsNorm(const Shape& normalized_shape, double epsilon, Affine affine)
      : RowNormModule(normalized_shape, epsilon, std::move(affine)) {}
  const char* kind() const noexcept override { return "rms_norm"; }
  Op op() const noexcept override { return Op::kRmsNorm; }
  Ref<Module> copied(PartCopies& parts) const override;
  Tensor forward(const Tensor& input) const override;
  ops::SumAndNorm forward_sum(const Tensor& input, const Tensor& residual, std::optional<DType> result) const override;
};

class GroupNorm final : public AffineModule {
 public:
  GroupNorm(int64_t groups, int64_t channels, double epsilon, Affine affine)
      : AffineModule(std::move(affine)), groups_(groups), channels_(channels), epsilon_(epsilon) {}
  const char* kind() const noexcept override { return "group_norm"; }
  Ref<Module> copied(PartCopies& parts) const override;
  Tensor forward(const Tensor& input) const override;

 private:
  int64_t groups_;
  int64_t channels_;
  double epsilon_;
};

class InstanceNorm final : public AffineModule {
 public:
  InstanceNorm(int64_t channels, double epsilon, Affine affine)
      : AffineModule(std::move(affine)), channels_(channels), epsilon_(epsilon) {}
  const char* kind() const noexcept override { return "instance_norm"; }
  Tensor forward(const Tensor& input) const override;

 private:
  int64_t channels_;
  double epsilon_;
};

}  // namespace halftone::nn
