#include "core/error.h"
#include "ops/dispatch/record.h"
#include "ops/shape/shape.h"
#include "ops/shape/stride.h"

namespace halftone::ops {

namespace {

struct ReshapeBackward final : Node {
  Shape shape;

  const char* name() const noexcept override { return "reshape"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    inputs.set(0, reshaped(grads[0], shape));
  }
  void release_saved() noexcept override {}
};

// Replaces a size of -1 by the one that makes the product equal to `count`.
Shape resolve(const Shape& asked, int64_t count) {
  Shape shape = asked;
  int unknown = -1;
  for (int i = 0; i < asked.rank(); ++i) {
    if (asked[i] != -1) continue;
    if (unknown >= 0) fail(Code::kInvalidArgument, "shape", "shape %s has -1 twice", ShapeText(asked).text);
    unknown = i;
    shape[i] = 1;
  }
  shape = checked_shape(shape.begin(), shape.rank(), "shape");
  const int64_t known = numel(shape);
  if (unknown >= 0 && known > 0 && count % known == 0) {
    shape[unknown] = count / known;
  } else if (unknown >= 0 || known != count) {
    fail(Code::kShapeMismatch, "shape", "shape %s does not hold input's %lld elements", ShapeText(asked).text,
         static_cast<long long>(count));
  }
  return shape;
}

}  // namespace

Tensor reshape(const Tensor& input, const Shape& asked) {
  const Shape shape = resolve(asked, input.numel());
  const Tensor same = reshaped(input, shape);
  // The result needs a body of its own, because recording sets its gradient source.
  Tensor result = same.is_same(input) ? input.detach() : same;
  if (auto* node = record<ReshapeBackward>(result, {&input})) node->shape = input.shape();
  return result;
}

}  // namespace halftone::ops
