#include "ops/dispatch/record.h"
#include "ops/shape/stride.h"
#include "ops/shape/tile.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

// REQUIRES: 0 <= shift < input.size(dim)
Tensor rolled_along(const Tensor& input, int dim, int64_t shift) {
  Tensor result = empty_like(input);
  const int64_t rest = input.size(dim) - shift;
  copy(sliced(input, {.dim = dim, .start = 0, .length = rest}),
       sliced(result, {.dim = dim, .start = shift, .length = rest}));
  copy(sliced(input, {.dim = dim, .start = rest, .length = shift}),
       sliced(result, {.dim = dim, .start = 0, .length = shift}));
  return result;
}

// REQUIRES: each shift is in [0, size of its dimension).
Tensor rolled(const Tensor& input, const Shape& dims, const Shape& shifts) {
  Tensor result = input;
  for (int i = 0; i < dims.rank(); ++i) {
    if (shifts[i] != 0) result = rolled_along(result, static_cast<int>(dims[i]), shifts[i]);
  }
  return result;
}

struct RollBackward final : Node {
  Shape dims, shifts;

  const char* name() const noexcept override { return "roll"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    Shape opposite = shifts;
    for (int i = 0; i < dims.rank(); ++i) {
      if (shifts[i] != 0) opposite[i] = grads[0].size(static_cast<int>(dims[i])) - shifts[i];
    }
    inputs.set(0, rolled(grads[0], dims, opposite));
  }
  void release_saved() noexcept override {}
};

}  // namespace

Tensor roll(const Tensor& input, const Shape& dims, const Shape& given) {
  const Shape named = checked_dims(dims, input.rank(), "dims");
  const Shape checked = input.rank() > 0 ? named : Shape();  // a scalar accepts dim 0 but has no dimension to roll
  Shape shifts;
  for (int i = 0; i < checked.rank(); ++i) {
    const int64_t size = input.size(static_cast<int>(checked[i]));
    shifts.push_back(size == 0 ? 0 : (given[i] % size + size) % size);
  }
  Tensor result = rolled(input, checked, shifts);
  if (result.is_same(input)) result = converted(input, input.dtype());
  if (auto* node = record<RollBackward>(result, {&input})) {
    node->dims = checked;
    node->shifts = shifts;
  }
  return result;
}

}  // namespace halftone::ops
