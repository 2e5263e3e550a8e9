#include "ops/dispatch/cast.h"

#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

struct CastBackward final : Node {
  DType dtype;

  const char* name() const noexcept override { return "cast"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    inputs.set(0, grads[0].dtype() == dtype ? grads[0] : converted(grads[0], dtype));
  }
  void release_saved() noexcept override {}
};

}  // namespace

Tensor cast(const Tensor& input, DType dtype) {
  if (dtype == input.dtype()) return input;
  Tensor result = converted(input, dtype);
  if (!is_arithmetic_float(dtype)) return result;  // no gradient flows through integers or storage formats
  if (auto* node = record<CastBackward>(result, {&input})) node->dtype = input.dtype();
  return result;
}

}  // namespace halftone::ops
