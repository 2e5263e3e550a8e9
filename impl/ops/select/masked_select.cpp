#include "backend/kernels/kernels.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/binary.h"
#include "ops/index/index.h"
#include "ops/index/indices.h"
#include "ops/select/select.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

constexpr const char* kName = "masked_select";

// For each element of a mask its number among the true ones, from 1 on; 0 where it is false.
Tensor numbers_of(const Tensor& mask) {
  const Tensor sums = empty(mask.device(), DType::kI64, mask.shape());
  launch(kName, mask.device(), &Kernels::reduce, &ReduceKernels::cumulative_sum, mask.view(), 0, false, sums.view());
  return apply_binary(kName, BinaryOp::kMultiply, sums, mask, DType::kI64);
}

struct MaskedSelectBackward final : Node {
  SavedTensor mask;  // a vector, of the operation alone, so that its true elements cannot become more
  Shape shape;       // of input and mask together
  Shape input_shape;
  DType dtype;

  const char* name() const noexcept override { return kName; }
  // Element 0 of the table is the gradient of the elements that were not selected.
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const int64_t count = grads[0].numel();
    const Tensor table = full(grads[0].device(), grads[0].dtype(), {count + 1}, 0.0);
    copy(grads[0], sliced(table, {.dim = 0, .start = 1, .length = count}));
    const Tensor grad = picked(kName, table, 0, numbers_of(mask.unpack()));
    inputs.set(0, reduce_to(reshaped(grad, shape), input_shape, dtype));
  }
  void release_saved() noexcept override { mask.reset(); }
};

}  // namespace

Tensor masked_select(const Tensor& input, const Tensor& mask) {
  require_mask(mask, input);
  const Shape shape = broadcast_shapes(input.shape(), mask.shape());
  const Shape line = {numel(shape)};
  const Tensor own_mask = reshaped(converted(expanded(mask, shape), DType::kBool), line);
  const Tensor places = nonzero(own_mask);
  const Tensor elements = reshaped(contiguous(expanded(input, shape)), line);
  Tensor result = picked(kName, elements, 0, reshaped(places, {places.size(0)}));
  if (auto* node = record<MaskedSelectBackward>(result, {&input})) {
    node->mask = SavedTensor(own_mask);
    node->shape = shape;
    node->input_shape = input.shape();
    node->dtype = input.dtype();
  }
  return result;
}

}  // namespace halftone::ops
