#include "ops/attention/rotary.h"

#include "core/error.h"
#include "ops/attention/layout.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

void require_rotary(const Tensor& input, const Tensor& positions) {
  require_float(input, "input");
  const int rank = input.rank();
  if (rank < 2) {
    fail(Code::kShapeMismatch, "input", "input %s has %d dimensions, expected at least 2",
         ShapeText(input.shape()).text, rank);
  }
  // Pairs of elements are rotated.
  if (input.size(rank - 1) % 2 != 0) {
    fail(Code::kShapeMismatch, "input", "input.shape[%d]=%lld, expected an even number", rank - 1,
         static_cast<long long>(input.size(rank - 1)));
  }
  if (!positions.defined()) return;
  require_same_device(input, "input", positions, "positions");
  if (positions.dtype() != DType::kI64 && positions.dtype() != DType::kI32) {
    fail(Code::kDtypeMismatch, "positions", "positions is %s, expected i64 or i32", name_of(positions.dtype()));
  }
  bool fits = positions.rank() < rank;
  for (int i = 1; fits && i <= positions.rank(); ++i) {
    const int64_t size = positions.size(positions.rank() - i);
    fits = size == 1 || size == input.size(rank - 1 - i);
  }
  if (!fits) {
    fail(Code::kShapeMismatch, "positions", "positions %s does not broadcast to the rows %s",
         ShapeText(positions.shape()).text, ShapeText(Shape(input.shape().begin(), rank - 1)).text);
  }
}

// The result has the order of heads and rows of the input.
Tensor rotated(const Rotary& rotary, const Tensor& input, const Tensor& positions) {
  Tensor result = empty_in_order_of(input, input.shape());
  const View view = positions.defined() ? expand(positions, Shape(input.shape().begin(), input.rank() - 1)) : View{};
  launch("rotary_embedding", input.device(), &Kernels::attention, &AttentionKernels::rotate, rotary, input.view(), view,
         result.view());
  return result;
}

// A rotation is orthogonal: its transpose is the rotation by the negative angle.
struct RotaryBackward final : Node {
  SavedTensor positions;
  bool has_positions = false;
  Rotary inverse;

  const char* name() const noexcept override { return "rotary_embedding"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    inputs.set(0, rotated(inverse, grads[0], has_positions ? positions.unpack() : Tensor()));
  }
  void release_saved() noexcept override { positions.reset(); }
};

}  // namespace

Tensor rotary_embedding(const Tensor& given, const Tensor& positions, const Rotary& rotary) {
  const auto [input] = autocast_operands(Op::kRotaryEmbedding, given);
  require_rotary(input, positions);
  const Tensor wide =
      positions.defined() && positions.dtype() != DType::kI64 ? converted(positions, DType::kI64) : positions;
  Tensor result = rotated(rotary, input, wide);
  if (auto* node = record<RotaryBackward>(result, {&input})) {
    node->has_positions = wide.defined();
    if (wide.defined()) node->positions = SavedTensor(wide);
    node->inverse = rotary;
    node->inverse.is_inverse = true;
  }
  return result;
}

}  // namespace halftone::ops
