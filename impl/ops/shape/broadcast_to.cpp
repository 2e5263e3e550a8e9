#include "core/error.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/record.h"
#include "ops/shape/shape.h"

namespace halftone::ops {

namespace {

struct BroadcastToBackward final : Node {
  Shape shape;
  DType dtype;

  const char* name() const noexcept override { return "broadcast_to"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    inputs.set(0, reduce_to(grads[0], shape, dtype));
  }
  void release_saved() noexcept override {}
};

// Replaces sizes of -1 by the input's.
Shape checked_target(const Tensor& input, const Shape& asked) {
  const int added = asked.rank() - input.rank();
  Shape target = asked;
  for (int i = 0; i < asked.rank(); ++i) {
    if (asked[i] != -1) continue;
    if (i < added) fail(Code::kInvalidArgument, "shape", "shape %s has -1 in a new dimension", ShapeText(asked).text);
    target[i] = input.size(i - added);
  }
  target = checked_shape(target.begin(), target.rank(), "shape");
  bool fits = added >= 0;
  for (int i = 0; fits && i < input.rank(); ++i) fits = input.size(i) == 1 || input.size(i) == target[i + added];
  if (!fits) {
    fail(Code::kShapeMismatch, "shape", "input %s does not broadcast to shape %s", ShapeText(input.shape()).text,
         ShapeText(asked).text);
  }
  return target;
}

}  // namespace

Tensor broadcast_to(const Tensor& input, const Shape& asked) {
  Tensor result = expanded(input, checked_target(input, asked));
  if (auto* node = record<BroadcastToBackward>(result, {&input})) {
    node->shape = input.shape();
    node->dtype = input.dtype();
  }
  return result;
}

}  // namespace halftone::ops
