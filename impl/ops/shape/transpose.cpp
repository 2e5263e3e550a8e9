#include <utility>

#include "core/error.h"
#include "ops/dispatch/record.h"
#include "ops/shape/shape.h"

namespace halftone::ops {

namespace {

Tensor swapped(const Tensor& tensor, int dim0, int dim1) {
  if (tensor.rank() == 0) return tensor.detach();
  Shape shape = tensor.shape();
  Shape strides = tensor.strides();
  std::swap(shape[dim0], shape[dim1]);
  std::swap(strides[dim0], strides[dim1]);
  return tensor.as_strided(shape, strides, tensor.offset());
}

struct TransposeBackward final : Node {
  int dim0, dim1;

  const char* name() const noexcept override { return "transpose"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    inputs.set(0, swapped(grads[0], dim0, dim1));
  }
  void release_saved() noexcept override {}
};

}  // namespace

Tensor transpose(const Tensor& input, int64_t dim0, int64_t dim1) {
  const int first = checked_dim(dim0, input.rank(), "dim0");
  const int second = checked_dim(dim1, input.rank(), "dim1");
  Tensor result = swapped(input, first, second);
  if (auto* node = record<TransposeBackward>(result, {&input})) {
    node->dim0 = first;
    node->dim1 = second;
  }
  return result;
}

}  // namespace halftone::ops
