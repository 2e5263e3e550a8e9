#include <algorithm>

#include "core/error.h"
#include "ops/dispatch/record.h"
#include "ops/shape/repeat.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

// A view of a diagonal: 0 is the main one, those above it are positive.
Tensor diagonal_of(const Tensor& matrix, int64_t diagonal) {
  const int64_t rows = matrix.size(0), columns = matrix.size(1);
  const int64_t length = diagonal >= 0 ? std::min(rows, columns - diagonal) : std::min(rows + diagonal, columns);
  if (length <= 0) return matrix.as_strided({0}, {1}, matrix.offset());
  const Shape& strides = matrix.strides();
  const int64_t first = diagonal >= 0 ? diagonal * strides[1] : -diagonal * strides[0];
  return matrix.as_strided({length}, {strides[0] + strides[1]}, matrix.offset() + first);
}

Tensor with_diagonal(const Tensor& vector, const Shape& shape, int64_t diagonal) {
  const Tensor matrix = full(vector.device(), vector.dtype(), shape, 0.0);
  copy(vector, diagonal_of(matrix, diagonal));
  return matrix;
}

struct DiagBackward final : Node {
  Shape shape;  // of the input: a vector or a matrix
  int64_t diagonal;

  const char* name() const noexcept override { return "diag"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    inputs.set(0, shape.rank() == 1 ? diagonal_of(grads[0], diagonal) : with_diagonal(grads[0], shape, diagonal));
  }
  void release_saved() noexcept override {}
};

// The matrix on whose diagonal the vector fits.
Shape square_for(const Tensor& vector, int64_t diagonal) {
  int64_t size;
  const bool overflows =
      diagonal == INT64_MIN || __builtin_add_overflow(vector.size(0), diagonal < 0 ? -diagonal : diagonal, &size);
  if (overflows) {
    fail(Code::kInvalidArgument, "diagonal", "diagonal=%lld is beyond any matrix", static_cast<long long>(diagonal));
  }
  const int64_t sizes[] = {size, size};
  return checked_shape(sizes, 2, "diagonal");
}

}  // namespace

Tensor diag(const Tensor& input, int64_t diagonal) {
  if (input.rank() != 1 && input.rank() != 2) {
    fail(Code::kShapeMismatch, "input", "input %s has %d dimensions, expected 1 or 2", ShapeText(input.shape()).text,
         input.rank());
  }
  Tensor result = input.rank() == 1 ? with_diagonal(input, square_for(input, diagonal), diagonal)
                                    : converted(diagonal_of(input, diagonal), input.dtype());
  if (auto* node = record<DiagBackward>(result, {&input})) {
    node->shape = input.shape();
    node->diagonal = diagonal;
  }
  return result;
}

}  // namespace halftone::ops
