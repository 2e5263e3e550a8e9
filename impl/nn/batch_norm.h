// Batch normalisation with running statistics: "running_mean" and "running_var" (f32; f64 for f64 layers), and
// "num_batches_tracked" (i64). In training mode forward writes them, when the C call under way has succeeded.
#pragma once

#include "nn/norms.h"
#include "ops/norm/norms.h"

namespace halftone::nn {

struct BatchNormOptions {
  double epsilon = 1e-5;
  double momentum = 0.1;
  bool is_cumulative = false;  // the running statistics are means over all batches, whatever the momentum
  bool tracks = true;          // keeps running statistics; else the batch's are used in evaluation too
  int least_rank = 2;          // of inputs
  int most_rank = 3;
};

// The normalisation of a layer in training by the batches of many ranks. parallel/replicate/sync_batch_norm.h has one.
class BatchNormSync : public RefCounted {
 public:
  // As ops::batch_norm in training. `input` has the layer's channels.
  virtual Tensor run(const Tensor& input, const ops::RunningStatistics& running, const Affine& affine,
                     const ops::BatchNormSettings& settings) = 0;
};

class BatchNorm final : public AffineModule {
 public:
  BatchNorm(ContextDevice& device, int64_t channels, DType dtype, const BatchNormOptions& options, Affine affine);

  const char* kind() const noexcept override { return options_.most_rank == 3 ? "batch_norm1d" : "batch_norm2d"; }
  Ref<Module> copied(PartCopies& parts) const override;
  Tensor forward(const Tensor& input) const override;
  void append_buffers(const std::string& prefix, std::vector<NamedBuffer>& out) const override;
  // Null for the statistics of this rank's batches alone. A copy of the layer has the same. Const, since children are
  // reached as const.
  void set_sync(Ref<BatchNormSync> sync) const noexcept { sync_ = std::move(sync); }

 private:
  void require_input(const Tensor& input) const;

  int64_t channels_;
  BatchNormOptions options_;
  mutable Ref<BatchNormSync> sync_;
  Tensor running_mean_;  // undefined where nothing is tracked, as the two below
  Tensor running_var_;
  Tensor batch_count_;
};

}  // namespace halftone::nn
