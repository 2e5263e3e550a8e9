#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/reduce/product.h"
#include "ops/reduce/reduction.h"
#include "ops/reduce/running_product.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

// A tensor with its reduced dimensions moved behind the kept ones, and the way back.
class MovedDims {
 public:
  MovedDims(const Shape& shape, const Shape& kept) : shape_(shape) {
    for (const bool goes : {false, true}) {
      for (int i = 0; i < shape.rank(); ++i) {
        if ((kept[i] != shape[i]) == goes) order_.push_back(i);
      }
    }
  }

  Tensor moved(const Tensor& tensor) const {
    Shape shape, strides;
    for (const int64_t dim : order_) {
      shape.push_back(tensor.size(static_cast<int>(dim)));
      strides.push_back(tensor.strides()[static_cast<int>(dim)]);
    }
    return tensor.as_strided(shape, strides, tensor.offset());
  }

  // A view of a contiguous tensor of the moved elements in their old order.
  Tensor moved_back(const Tensor& tensor) const {
    Shape moved_shape, strides = shape_;
    for (const int64_t dim : order_) moved_shape.push_back(shape_[static_cast<int>(dim)]);
    const Shape moved_strides = contiguous_strides(moved_shape);
    for (int i = 0; i < order_.rank(); ++i) strides[static_cast<int>(order_[i])] = moved_strides[i];
    return tensor.as_strided(shape_, strides, tensor.offset());
  }

 private:
  Shape shape_;
  Shape order_;
};

// The gradient of the last of the running products of each row, whose others have none.
struct ProdBackward final : Node {
  SavedTensor input;
  Shape kept;

  const char* name() const noexcept override { return "prod"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& x = input.unpack();
    if (x.numel() == 0) return inputs.set(0, empty_like(x));
    const MovedDims dims(x.shape(), kept);
    const int64_t row_count = numel(kept);
    const Shape shape = {row_count, x.numel() / row_count};
    const Tensor grad = full(x.device(), grads[0].dtype(), shape, 0.0);
    const Range last = {.dim = 1, .start = shape[1] - 1, .length = 1};
    copy(reshaped(grads[0], {row_count, 1}), sliced(grad, last));
    inputs.set(0, dims.moved_back(running_product_gradient("prod", grad, reshaped(dims.moved(x), shape), 1)));
  }
  void release_saved() noexcept override { input.reset(); }
};

}  // namespace

Tensor prod(const Tensor& input, const Shape& dims, bool keepdim) {
  require_arithmetic(input, "input");
  const auto [x, own] = autocast_unary(Op::kProd, input);
  const Reduction reduction = plan_reduction(x.shape(), dims, keepdim);
  const auto [result, kept] = empty_reduced(x, reduction, is_float(own) ? own : DType::kI64);
  launch("prod", x.device(), &Kernels::reduce, &ReduceKernels::product, x.view(), kept);
  if (auto* node = record<ProdBackward>(result, {&x})) {
    node->input = SavedTensor(x);
    node->kept = reduction.kept;
  }
  return result;
}

}  // namespace halftone::ops
