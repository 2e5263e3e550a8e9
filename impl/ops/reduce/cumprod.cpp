#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/reduce/product.h"
#include "ops/reduce/running_product.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

Tensor running_products(const char* operation, const Tensor& input, int dim, DType dtype) {
  Tensor result = empty(input.device(), dtype, input.shape());
  launch(operation, input.device(), &Kernels::reduce, &ReduceKernels::cumulative_product, input.view(), dim,
         result.view());
  return result;
}

Tensor running_product_gradient(const char* operation, const Tensor& grad, const Tensor& input, int dim) {
  const Tensor products = running_products(operation, input, dim, DType::kF64);
  Tensor result = empty_like(input);
  launch(operation, input.device(), &Kernels::reduce, &ReduceKernels::cumulative_product_backward, grad.view(),
         input.view(), products.view(), dim, result.view());
  return result;
}

namespace ops {

namespace {

struct CumprodBackward final : Node {
  SavedTensor input;
  int dim;

  const char* name() const noexcept override { return "cumprod"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    inputs.set(0, running_product_gradient("cumprod", grads[0], input.unpack(), dim));
  }
  void release_saved() noexcept override { input.reset(); }
};

}  // namespace

Tensor cumprod(const Tensor& input, int64_t dim) {
  require_arithmetic(input, "input");
  const auto [x, own] = autocast_unary(Op::kCumprod, input);
  const int along = checked_dim(dim, x.rank(), "dim");
  Tensor result = running_products("cumprod", x, along, is_float(own) ? own : DType::kI64);
  if (auto* node = record<CumprodBackward>(result, {&x})) {
    node->input = SavedTensor(x);
    node->dim = along;
  }
  return result;
}

}  // namespace ops

}  // namespace halftone
