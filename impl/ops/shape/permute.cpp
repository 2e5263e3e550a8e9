#include "core/error.h"
#include "ops/dispatch/record.h"
#include "ops/shape/shape.h"

namespace halftone::ops {

namespace {

// Dimension i of the result is dimension order[i] of the tensor.
Tensor permuted(const Tensor& tensor, const Shape& order) {
  Shape shape, strides;
  for (int64_t dim : order) {
    shape.push_back(tensor.shape()[static_cast<int>(dim)]);
    strides.push_back(tensor.strides()[static_cast<int>(dim)]);
  }
  return tensor.as_strided(shape, strides, tensor.offset());
}

struct PermuteBackward final : Node {
  Shape inverse;

  const char* name() const noexcept override { return "permute"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    inputs.set(0, permuted(grads[0], inverse));
  }
  void release_saved() noexcept override {}
};

Shape checked_order(const Shape& dims, int rank) {
  if (dims.rank() != rank) {
    fail(Code::kInvalidArgument, "dim_count", "dim_count=%d differs from the %d dimensions of input", dims.rank(),
         rank);
  }
  return checked_dims(dims, rank, "dims");
}

}  // namespace

Tensor permute(const Tensor& input, const Shape& dims) {
  const Shape order = checked_order(dims, input.rank());
  Tensor result = permuted(input, order);
  if (auto* node = record<PermuteBackward>(result, {&input})) {
    node->inverse = order;
    for (int i = 0; i < order.rank(); ++i) node->inverse[static_cast<int>(order[i])] = i;
  }
  return result;
}

}  // namespace halftone::ops
