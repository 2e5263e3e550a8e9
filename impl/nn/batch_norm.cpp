#include "nn/batch_norm.h"

#include <cinttypes>

#include "core/error.h"
#include "nn/part_copies.h"
#include "tensor/factory.h"

namespace halftone::nn {

BatchNorm::BatchNorm(ContextDevice& device, int64_t channels, DType dtype, const BatchNormOptions& options,
                     Affine affine)
    : AffineModule(std::move(affine)), channels_(channels), options_(options) {
  if (!options.tracks) return;
  const DType wide = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  running_mean_ = full(device, wide, {channels}, 0.0, Category::kParameters);
  running_var_ = full(device, wide, {channels}, 1.0, Category::kParameters);
  batch_count_ = full(device, DType::kI64, {}, 0.0, Category::kParameters);
}

void BatchNorm::require_input(const Tensor& input) const {
  if (input.rank() < options_.least_rank || input.rank() > options_.most_rank) {
    fail(Code::kShapeMismatch, "input", "input %s has %d dimensions, expected %d to %d", ShapeText(input.shape()).text,
         input.rank(), options_.least_rank, options_.most_rank);
  }
  if (input.size(1) == channels_) return;
  fail(Code::kShapeMismatch, "input", "input %s does not have the layer's %" PRId64 " channels",
       ShapeText(input.shape()).text, channels_);
}

Tensor BatchNorm::forward(const Tensor& input) const {
  require_input(input);
  const ops::RunningStatistics running = {running_mean_, running_var_, batch_count_};
  const ops::BatchNormSettings settings = {.training = is_training() || !options_.tracks,
                                           .momentum = options_.momentum,
                                           .epsilon = options_.epsilon,
                                           .is_cumulative = options_.is_cumulative};
  // Evaluation is this rank's own.
  if (sync_ && is_training()) return sync_->run(input, running, affine_, settings);
  return ops::batch_norm(input, running, affine_.weight_leaf(), affine_.bias_leaf(), settings);
}

Ref<Module> BatchNorm::copied(PartCopies& parts) const {
  Ref<BatchNorm> made = make_ref<BatchNorm>(*this);
  own_affine(*made, parts);
  for (Tensor* buffer : {&made->running_mean_, &made->running_var_, &made->batch_count_}) {
    *buffer = parts.buffer(*buffer);
  }
  return made;
}

void BatchNorm::append_buffers(const std::string& prefix, std::vector<NamedBuffer>& out) const {
  if (!options_.tracks) return;
  out.push_back({prefix + "running_mean", running_mean_});
  out.push_back({prefix + "running_var", running_var_});
  out.push_back({prefix + "num_batches_tracked", batch_count_});
}

}  // namespace halftone::nn
