#include "ops/matmul/diagonal.h"

#include "ops/dispatch/record.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

// A step along the diagonal is a step along both dimensions.
Tensor diagonal_view(const Tensor& tensor, int kept, int dropped) {
  Shape shape, strides;
  for (int i = 0; i < tensor.rank(); ++i) {
    if (i == dropped) continue;
    shape.push_back(tensor.size(i));
    strides.push_back(tensor.strides()[i] + (i == kept ? tensor.strides()[dropped] : 0));
  }
  return tensor.as_strided(shape, strides, tensor.offset());
}

struct DiagonalBackward final : Node {
  Shape shape;
  DType dtype;
  int kept, dropped;

  const char* name() const noexcept override { return "diagonal"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor grad = full(grads[0].device(), dtype, shape, 0.0);
    copy(grads[0], diagonal_view(grad, kept, dropped));
    inputs.set(0, grad);
  }
  void release_saved() noexcept override {}
};

}  // namespace

Tensor diagonal(const Tensor& input, int kept, int dropped) {
  Tensor result = diagonal_view(input, kept, dropped);
  if (auto* node = record<DiagonalBackward>(result, {&input})) {
    node->shape = input.shape();
    node->dtype = input.dtype();
    node->kept = kept;
    node->dropped = dropped;
  }
  return result;
}

}  // namespace halftone::ops
