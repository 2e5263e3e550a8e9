#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/reduce/reduce.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

Tensor run(const Tensor& input, int dim, bool from_end, DType dtype) {
  Tensor result = empty(input.device(), dtype, input.shape());
  launch("cumsum", input.device(), &Kernels::reduce, &ReduceKernels::cumulative_sum, input.view(), dim, from_end,
         result.view());
  return result;
}

struct CumsumBackward final : Node {
  int dim;
  DType dtype;

  const char* name() const noexcept override { return "cumsum"; }
  // Element i is a term of every sum from i on, so its gradient is a sum from the end.
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    inputs.set(0, run(grads[0], dim, true, dtype));
  }
  void release_saved() noexcept override {}
};

}  // namespace

Tensor cumsum(const Tensor& input, int64_t dim) {
  require_arithmetic(input, "input");
  const auto [x, own] = autocast_unary(Op::kCumsum, input);
  const int along = checked_dim(dim, x.rank(), "dim");
  Tensor result = run(x, along, false, is_float(own) ? own : DType::kI64);
  if (auto* node = record<CumsumBackward>(result, {&x})) {
    node->dim = along;
    node->dtype = x.dtype();
  }
  return result;
}

}  // namespace halftone::ops
