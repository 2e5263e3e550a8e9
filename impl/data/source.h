// A data set from which batches are taken: sample i is row i of every tensor of a batch. One thread at a time.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace halftone::data {

class Source : public RefCounted {
 public:
  // Tensors in a batch.
  virtual size_t tensor_count() const noexcept = 0;
  // New tensors with the samples of these indices. Throws OUT_OF_MEMORY, and the failure of a caller's function.
  virtual std::vector<Tensor> batch(const std::vector<int64_t>& indices) const = 0;
};

// The rows of tensors.
class TensorSource final : public Source {
 public:
  // Throws SHAPE_MISMATCH or DEVICE naming tensors, unless all have `count` rows and are on one device.
  TensorSource(std::vector<Tensor> tensors, int64_t count);

  size_t tensor_count() const noexcept override { return tensors_.size(); }
  std::vector<Tensor> batch(const std::vector<int64_t>& indices) const override;

 private:
  std::vector<Tensor> tensors_;
};

// Windows over one sequence of tokens. Sample i is `length` tokens from i * stride on, and the same moved by one token:
// the input of a language model and its target, both i64.
class WindowSource final : public Source {
 public:
  // The number of windows that have a target for every token. REQUIRES: all are at least 0, length and stride above 0.
  static int64_t window_count(int64_t token_count, int64_t length, int64_t stride) noexcept;

  // REQUIRES: integers in one dimension; length and stride are above 0.
  WindowSource(const Tensor& tokens, int64_t length, int64_t stride);

  size_t tensor_count() const noexcept override { return 2; }
  std::vector<Tensor> batch(const std::vector<int64_t>& indices) const override;

 private:
  Tensor tokens_;
  int64_t length_;
  int64_t stride_;
};

}  // namespace halftone::data
