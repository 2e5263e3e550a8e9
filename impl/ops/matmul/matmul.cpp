#include "ops/matmul/matmul.h"

#include <algorithm>

#include "core/error.h"
#include "ops/dispatch/autocast.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/gemm/gemm.h"
#include "ops/reduce/reduce.h"
#include "ops/shape/shape.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

void require_factors(const Tensor& a, const Tensor& b) {
  require_float(a, "a");
  require_same_dtype(a, "a", b, "b");
  require_same_device(a, "a", b, "b");
  for (const auto& [tensor, argument] : {std::pair(&a, "a"), std::pair(&b, "b")}) {
    if (tensor->rank() == 0) {
      fail(Code::kShapeMismatch, argument, "%s is a scalar, expected at least 1 dimension", argument);
    }
  }
  const int summed_of_b = std::max(0, b.rank() - 2);
  const int64_t k = a.size(a.rank() - 1);
  if (k != b.size(summed_of_b)) {
    fail(Code::kShapeMismatch, "b", "a.shape[%d]=%lld differs from b.shape[%d]=%lld (a %s, b %s)", a.rank() - 1,
         static_cast<long long>(k), summed_of_b, static_cast<long long>(b.size(summed_of_b)), ShapeText(a.shape()).text,
         ShapeText(b.shape()).text);
  }
}

Shape batch_shape(const Tensor& tensor) { return Shape(tensor.shape().begin(), tensor.rank() - 2); }

Shape with_matrix(Shape batch, int64_t rows, int64_t columns) {
  if (batch.rank() + 2 > kMaxRank) {
    fail(Code::kShapeMismatch, "b", "the product has %d dimensions, expected at most %d", batch.rank() + 2, kMaxRank);
  }
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

// Matrix number `index` of a batch, in row-major order over the leading dimensions. An empty batch has no memory, so
// its matrices have none either.
View matrix_at(const View& batch, int64_t index) {
  const int lead = batch.rank() - 2;
  int64_t offset = 0;
  for (int i = lead - 1; i >= 0; --i) {
    offset += index % batch.shape[i] * batch.strides[i];
    index /= batch.shape[i];
  }
  char* first = static_cast<char*>(batch.data);
  return {.data = first == nullptr ? nullptr : first + offset * static_cast<int64_t>(size_of(batch.dtype)),
          .dtype = batch.dtype,
          .shape = {batch.shape[lead], batch.shape[lead + 1]},
          .strides = {batch.strides[lead], batch.strides[lead + 1]}};
}

// c = a * b for every matrix of the batch; all three have c's leading dimensions.
void multiply_batches(ContextDevice& device, const View& a, const View& b, const View& c) {
  if (c.numel() == 0) return;
  const int64_t count = c.numel() / (c.shape[c.rank() - 2] * c.shape[c.rank() - 1]);
  for (int64_t i = 0; i < count; ++i) {
    run_gemm("matmul", device, {.a = matrix_at(a, i), .b = matrix_at(b, i), .c = matrix_at(c, i)});
  }
}

View expand_batch(const Tensor& tensor, const Shape& batch) {
  return expand(tensor, with_matrix(batch, tensor.size(tensor.rank() - 2), tensor.size(tensor.rank() - 1)));
}

struct MatmulBackward final : Node {
  SavedTensor a, b;

  const char* name() const noexcept override { return "matmul"; }
  // dA = dC B^T and dB = A^T dC, summed over the batches that broadcasting repeated.
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor& left = a.unpack();
    const Tensor& right = b.unpack();
    const Tensor& grad = grads[0];
    ContextDevice& device = grad.device();
    if (left.rank() == 2 && right.rank() == 2) {
      const DType dtype = left.dtype();
      if (inputs.needs(0)) set_gemm_grad("matmul", inputs, 0, grad.view(), transposed(right.view()), dtype, device);
      if (inputs.needs(1)) set_gemm_grad("matmul", inputs, 1, transposed(left.view()), grad.view(), dtype, device);
      return;
    }
    const Shape batch = batch_shape(grad);
    if (inputs.needs(0)) {
      inputs.set(0, batched_grad(grad.view(), transposed(expand_batch(right, batch)), left, batch, device));
    }
    if (inputs.needs(1)) {
      inputs.set(1, batched_grad(transposed(expand_batch(left, batch)), grad.view(), right, batch, device));
    }
  }
  void release_saved() noexcept override {
    a.reset();
    b.reset();
  }

 private:
  static Tensor batched_grad(const View& first, const View& second, const Tensor& like, const Shape& batch,
                             ContextDevice& device) {
    if (first.shape[first.rank() - 1] == 0) return full(device, like.dtype(), like.shape(), 0.0);  // empty sums
    const DType wide = like.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
    const bool repeated = !(batch_shape(like) == batch);
    const Shape shape = with_matrix(batch, like.size(like.rank() - 2), like.size(like.rank() - 1));
    Tensor grad = empty(device, repeated ? wide : like.dtype(), shape);
    multiply_batches(device, first, second, grad.view());
    return reduce_to(grad, like.shape(), like.dtype());
  }
};

}  // namespace

// A vector a is a row, a vector b a column; the result has no dimension for it.
Tensor matmul(const Tensor& a, const Tensor& b) {
  const auto [x, y] = autocast_operands(Op::kMatmul, a, b);
  require_factors(x, y);
  Shape of_vectors;
  if (x.rank() == 1) of_vectors.push_back(-2);
  if (y.rank() == 1) of_vectors.push_back(-1);
  if (of_vectors.rank() == 0) return matrix_product(x, y);
  const Tensor product = matrix_product(x.rank() == 1 ? unsqueeze(x, 0) : x, y.rank() == 1 ? unsqueeze(y, 1) : y);
  return squeeze(product, of_vectors);
}

Tensor matrix_product(const Tensor& a, const Tensor& b) {
  const Shape batch = broadcast_shapes(batch_shape(a), batch_shape(b), a.shape(), b.shape());
  Tensor result = empty(a.device(), a.dtype(), with_matrix(batch, a.size(a.rank() - 2), b.size(b.rank() - 1)));
  multiply_batches(a.device(), expand_batch(a, batch), expand_batch(b, batch), result.view());
  if (auto* node = record<MatmulBackward>(result, {&a, &b})) {
    node->a = SavedTensor(a);
    node->b = SavedTensor(b);
  }
  return result;
}

}  // namespace halftone::ops
