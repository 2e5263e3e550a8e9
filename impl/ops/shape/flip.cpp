#include "ops/dispatch/record.h"
#include "ops/shape/shape.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

// A view of the elements from the last to the first along `dims`, for this kernel only: tensors have no negative
// strides.
View backwards(const Tensor& tensor, const Shape& dims) {
  View view = tensor.view();
  int64_t first = 0;
  for (const int64_t dim : dims) {
    const int i = static_cast<int>(dim);
    first += (view.shape[i] - 1) * view.strides[i];
    view.strides[i] = -view.strides[i];
  }
  view.data = static_cast<std::byte*>(view.data) + first * static_cast<int64_t>(size_of(view.dtype));
  return view;
}

// REQUIRES: `dims` are checked.
Tensor flipped(const Tensor& input, const Shape& dims) {
  Tensor result = empty_like(input);
  if (result.numel() == 0) return result;
  launch("flip", input.device(), &Kernels::convert, &ConvertKernels::cast, backwards(input, dims), result.view());
  return result;
}

struct FlipBackward final : Node {
  Shape dims;

  const char* name() const noexcept override { return "flip"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    inputs.set(0, flipped(grads[0], dims));
  }
  void release_saved() noexcept override {}
};

}  // namespace

Tensor flip(const Tensor& input, const Shape& dims) {
  const Shape named = checked_dims(dims, input.rank(), "dims");
  const Shape checked = input.rank() > 0 ? named : Shape();  // a scalar accepts dim 0 but has no dimension to flip
  Tensor result = flipped(input, checked);
  if (auto* node = record<FlipBackward>(result, {&input})) node->dims = checked;
  return result;
}

}  // namespace halftone::ops
