#include "core/error.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/record.h"
#include "ops/shape/shape.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

// The range of one tensor in the result.
struct Piece {
  Range range;
  DType dtype;
};

struct CatBackward final : Node {
  std::vector<Piece> pieces;

  const char* name() const noexcept override { return "cat"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    for (size_t i = 0; i < pieces.size(); ++i) {
      const int input = static_cast<int>(i);
      if (!inputs.needs(input)) continue;
      const Tensor grad = sliced(grads[0], pieces[i].range);
      inputs.set(input, grad.dtype() == pieces[i].dtype ? grad : converted(grad, pieces[i].dtype));
    }
  }
  void release_saved() noexcept override {}
};

DType common_dtype(const std::vector<Tensor>& tensors) {
  DType dtype = tensors[0].dtype();
  for (const Tensor& tensor : tensors) dtype = promote(dtype, tensor.dtype());
  return dtype;
}

// Casts the tensors to the dtypes that the thread's autocast policy selects.
std::vector<Tensor> cast_operands(Op op, const std::vector<Tensor>& tensors) {
  const DType widest = common_dtype(tensors);
  std::vector<Tensor> operands;
  for (const Tensor& tensor : tensors) {
    operands.push_back(autocast_read(tensor, autocast_operand_dtype(op, tensor.dtype(), widest)));
  }
  return operands;
}

// REQUIRES: equal ranks, and `dim` below them.
void require_pieces(const std::vector<Tensor>& tensors, int dim) {
  const Shape& first = tensors[0].shape();
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (&tensors[i].device() != &tensors[0].device()) {
      fail(Code::kDevice, "tensors", "tensors[%zu] is on another device than tensors[0]", i);
    }
    Shape shape = tensors[i].shape();
    if (shape.rank() == first.rank()) shape[dim] = first[dim];
    if (!(shape == first)) {
      fail(Code::kShapeMismatch, "tensors", "tensors[%zu] %s differs from tensors[0] %s in more than dimension %d", i,
           ShapeText(tensors[i].shape()).text, ShapeText(first).text, dim);
    }
  }
}

Shape joined_shape(const std::vector<Tensor>& tensors, int dim) {
  Shape shape = tensors[0].shape();
  shape[dim] = 0;
  for (const Tensor& tensor : tensors) {
    if (__builtin_add_overflow(shape[dim], tensor.size(dim), &shape[dim])) {
      fail(Code::kInvalidArgument, "tensors", "tensors have more than 2^63 indices in dimension %d", dim);
    }
  }
  return shape;
}

Tensor join(const std::vector<Tensor>& tensors, int dim) {
  Tensor result = empty(tensors[0].device(), common_dtype(tensors), joined_shape(tensors, dim));
  std::vector<Piece> pieces;
  std::vector<const Tensor*> inputs;
  int64_t start = 0;
  for (const Tensor& tensor : tensors) {
    const Range range = {.dim = dim, .start = start, .length = tensor.size(dim)};
    copy(tensor, sliced(result, range));
    pieces.push_back({range, tensor.dtype()});
    inputs.push_back(&tensor);
    start += range.length;
  }
  if (auto* node = record<CatBackward>(result, inputs)) node->pieces = std::move(pieces);
  return result;
}

void require_some(const std::vector<Tensor>& tensors) {
  if (tensors.empty()) fail(Code::kInvalidArgument, "count", "count=0, expected at least one tensor");
}

}  // namespace

Tensor cat(const std::vector<Tensor>& tensors, int64_t dim) {
  require_some(tensors);
  if (tensors[0].rank() == 0) {
    fail(Code::kShapeMismatch, "tensors", "tensors[0] is a scalar, expected at least one dimension; stack it");
  }
  const int at = checked_dim(dim, tensors[0].rank(), "dim");
  require_pieces(tensors, at);
  return join(cast_operands(Op::kCat, tensors), at);
}

Tensor stack(const std::vector<Tensor>& tensors, int64_t dim) {
  require_some(tensors);
  const int at = checked_dim(dim, tensors[0].rank() + 1, "dim");
  for (size_t i = 1; i < tensors.size(); ++i) {
    if (tensors[i].shape() == tensors[0].shape()) continue;
    fail(Code::kShapeMismatch, "tensors", "tensors[%zu] %s differs from tensors[0] %s", i,
         ShapeText(tensors[i].shape()).text, ShapeText(tensors[0].shape()).text);
  }
  std::vector<Tensor> layers;
  for (const Tensor& tensor : tensors) layers.push_back(unsqueeze(tensor, at));
  require_pieces(layers, at);
  return join(cast_operands(Op::kStack, layers), at);
}

}  // namespace halftone::ops
