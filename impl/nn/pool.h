// Pooling layers: without parameters.
#pragma once

#include "nn/layer.h"
#include "ops/dispatch/op.h"
#include "ops/pool/pool.h"
#include "ops/pool/pool3d.h"

namespace halftone::nn {

using PoolOp = Tensor (*)(const Tensor& input, const ops::PoolOptions&);

class Pool final : public Layer {
 public:
  Pool(Op kind, PoolOp op, const ops::PoolOptions& options) : kind_(kind), op_(op), options_(options) {}
  const char* kind() const noexcept override { return name_of(kind_); }
  Ref<Module> copied(PartCopies&) const override { return make_ref<Pool>(*this); }
  Tensor forward(const Tensor& input) const override { return op_(input, options_); }

 private:
  Op kind_;
  PoolOp op_;
  ops::PoolOptions options_;
};

// Over volumes.
class Pool3d final : public Layer {
 public:
  using PoolOp = Tensor (*)(const Tensor& input, const ops::Pool3dOptions&);

  Pool3d(Op kind, PoolOp op, const ops::Pool3dOptions& options) : kind_(kind), op_(op), options_(options) {}
  const char* kind() const noexcept override { return name_of(kind_); }
  Ref<Module> copied(PartCopies&) const override { return make_ref<Pool3d>(*this); }
  Tensor forward(const Tensor& input) const override { return op_(input, options_); }

 private:
  Op kind_;
  PoolOp op_;
  ops::Pool3dOptions options_;
};

// Over lines: as many windows as `result_w`.
class AdaptivePool1d final : public Layer {
 public:
  using PoolTo = Tensor (*)(const Tensor& input, int64_t result_w);

  AdaptivePool1d(Op kind, PoolTo op, int64_t result_w) : kind_(kind), op_(op), result_w_(result_w) {}
  const char* kind() const noexcept override { return name_of(kind_); }
  Ref<Module> copied(PartCopies&) const override { return make_ref<AdaptivePool1d>(*this); }
  Tensor forward(const Tensor& input) const override { return op_(input, result_w_); }

 private:
  Op kind_;
  PoolTo op_;
  int64_t result_w_;
};

// Adaptive pooling over images.
class AdaptivePool2d final : public Layer {
 public:
  using PoolTo = Tensor (*)(const Tensor& input, int64_t result_h, int64_t result_w);

  AdaptivePool2d(Op kind, PoolTo op, int64_t result_h, int64_t result_w)
      : kind_(kind), op_(op), result_h_(result_h), result_w_(result_w) {}
  const char* kind() const noexcept override { return name_of(kind_); }
  Ref<Module> copied(PartCopies&) const override { return make_ref<AdaptivePool2d>(*this); }
  Tensor forward(const Tensor& input) const override { return op_(input, result_h_, result_w_); }

 private:
  Op kind_;
  PoolTo op_;
  int64_t result_h_;
  int64_t result_w_;
};

}  // namespace halftone::nn
