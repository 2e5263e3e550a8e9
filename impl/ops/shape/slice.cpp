#include <algorithm>

#include "core/error.h"
#include "ops/dispatch/record.h"
#include "ops/shape/shape.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

struct SliceBackward final : Node {
  Range range;
  Shape shape;
  DType dtype;

  const char* name() const noexcept override { return "slice"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    Tensor grad = full(grads[0].device(), dtype, shape, 0.0);
    copy(grads[0], sliced(grad, range));
    inputs.set(0, grad);
  }
  void release_saved() noexcept override {}
};

// The index, counted from the end if negative, clamped to [0, size].
int64_t clamped(int64_t index, int64_t size) {
  if (index < 0) index = index < -size ? 0 : index + size;
  return std::min(index, size);
}

}  // namespace

Tensor slice(const Tensor& input, int64_t dim, int64_t start, int64_t end, int64_t step) {
  if (input.rank() == 0) fail(Code::kInvalidArgument, "input", "input is a scalar, expected at least one dimension");
  const int in = checked_dim(dim, input.rank(), "dim");
  if (step < 1) fail(Code::kInvalidArgument, "step", "step=%lld, expected at least 1", static_cast<long long>(step));
  const int64_t first = clamped(start, input.size(in));
  const int64_t count = std::max<int64_t>(clamped(end, input.size(in)) - first, 0);
  // The length is rounded up without count + step - 1, which could overflow.
  const Range range = {.dim = in, .start = first, .length = count / step + (count % step != 0 ? 1 : 0), .step = step};
  Tensor result = sliced(input, range);
  if (auto* node = record<SliceBackward>(result, {&input})) {
    node->range = range;
    node->shape = input.shape();
    node->dtype = input.dtype();
  }
  return result;
}

}  // namespace halftone::ops
