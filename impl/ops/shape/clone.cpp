#include "ops/shape/clone.h"

#include "ops/dispatch/cast.h"
#include "ops/dispatch/record.h"
#include "runtime/context.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

struct CloneBackward final : Node {
  const char* name() const noexcept override { return "clone"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override { inputs.set(0, grads[0]); }
  void release_saved() noexcept override {}
};

struct MoveBackward final : Node {
  Ref<Context> context;  // keeps the device alive
  ContextDevice* device;

  const char* name() const noexcept override { return "to"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    inputs.set(0, moved_to(*device, grads[0]));
  }
  void release_saved() noexcept override {}
};

}  // namespace

Tensor clone(const Tensor& input) {
  Tensor result = converted(input, input.dtype());
  record<CloneBackward>(result, {&input});
  return result;
}

bool is_row_major(const Tensor& input) { return input.numel() == 0 || input.is_contiguous(); }

Tensor row_major(const Tensor& input) { return is_row_major(input) ? input : clone(input); }

Tensor to(const Tensor& input, ContextDevice& device, DType dtype) {
  const Tensor cast_input = cast(input, dtype);
  if (&input.device() == &device) return cast_input;
  Tensor result = moved_to(device, cast_input);
  if (auto* node = record<MoveBackward>(result, {&cast_input})) {
    node->context = Ref<Context>::share(input.device().context);
    node->device = &input.device();
  }
  return result;
}

}  // namespace halftone::ops
