// Pooling layers: without parameters.
#pragma once

#include "nn/module.h"
#include "ops/pool/pool.h"

namespace halftone::nn {

using PoolOp = Tensor (*)(const Tensor& input, const ops::PoolOptions&);

class Pool final : public Module {
 public:
  Pool(PoolOp op, const ops::PoolOptions& options) : op_(op), options_(options) {}
  Tensor forward(const Tensor& input) const override { return op_(input, options_); }

 private:
  PoolOp op_;
  ops::PoolOptions options_;
};

class AdaptiveAvgPool2d final : public Module {
 public:
  AdaptiveAvgPool2d(int64_t result_h, int64_t result_w) : result_h_(result_h), result_w_(result_w) {}
  Tensor forward(const Tensor& input) const override { return ops::adaptive_avg_pool2d(input, result_h_, result_w_); }

 private:
  int64_t result_h_;
  int64_t result_w_;
};

}  // namespace halftone::nn
