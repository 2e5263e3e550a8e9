#include "core/error.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/elementwise.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

// Half of the indices of a dimension, from `start`; a view.
Tensor half_of(const Tensor& whole, int dim, int64_t start) {
  Shape shape = whole.shape();
  shape[dim] /= 2;
  return whole.as_strided(shape, whole.strides(), whole.offset() + start * whole.strides()[dim]);
}

struct Halves {
  Halves(const Tensor& whole, int dim)
      : values(half_of(whole, dim, 0)), gates(half_of(whole, dim, whole.size(dim) / 2)) {}
  Tensor values;
  Tensor gates;
};

struct GluBackward final : Node {
  SavedTensor input;
  int dim;

  const char* name() const noexcept override { return "glu"; }
  // d(a s(b)) = s(b) da + a s(b) (1 - s(b)) db
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& x = input.unpack();
    const Halves of(x, dim);
    const Tensor grad = empty_like(x);
    const Halves written(grad, dim);
    launch(name(), x.device(), &Kernels::elementwise, &ElementwiseKernels::binary, BinaryOp::kGlu, grads[0].view(),
           of.gates.view(), written.values.view());
    launch(name(), x.device(), &Kernels::elementwise, &ElementwiseKernels::ternary, TernaryOp::kGluBackward,
           grads[0].view(), of.values.view(), of.gates.view(), written.gates.view());
    inputs.set(0, grad);
  }
  void release_saved() noexcept override { input.reset(); }
};

}  // namespace

Tensor glu(const Tensor& input, int64_t dim) {
  require_float(input, "input");
  if (input.rank() == 0) fail(Code::kInvalidArgument, "input", "input is a scalar, expected at least one dimension");
  const int along = checked_dim(dim, input.rank(), "dim");
  if (input.size(along) % 2 != 0) {
    fail(Code::kShapeMismatch, "input", "input %s has an odd size in dimension %d, and halves of it are needed",
         ShapeText(input.shape()).text, along);
  }
  const auto [x, dtype] = autocast_unary(Op::kGlu, input);
  const Halves of(x, along);
  const Tensor result = apply_binary("glu", BinaryOp::kGlu, of.values, of.gates, dtype);
  if (auto* node = record<GluBackward>(result, {&x})) {
    node->input = SavedTensor(x);
    node->dim = along;
  }
  return result;
}

}  // namespace halftone::ops
