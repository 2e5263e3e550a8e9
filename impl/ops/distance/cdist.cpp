// cdist. The differences of all pairs would need as much memory as the result times the length of a vector, so forward
// and backward compute them for a block of pairs at a time.
#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/cast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/distance/distance.h"
#include "ops/elementwise/binary.h"
#include "ops/elementwise/wide_operand.h"
#include "ops/shape/shape.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

constexpr int64_t kBlockSize = int64_t{1} << 20;  // differences

// The pairs of `rows` vectors of a with all of b, in each of `batches` batches.
struct Block {
  int64_t batch, batches;
  int64_t row, rows;
};

// Calls f(block) for the blocks of pairs of a [batches, n, d] and b [batches, m, d]; none if there are no pairs.
template <class F>
void for_each_block(const Tensor& a, const Tensor& b, F&& f) {
  const int64_t batches = a.size(0), n = a.size(1), m = b.size(1);
  if (batches == 0 || n == 0 || m == 0) return;
  const int64_t row = std::max<int64_t>(1, m * b.size(2));
  const int64_t rows = std::clamp<int64_t>(kBlockSize / row, 1, n);
  const int64_t together = rows < n ? 1 : std::clamp<int64_t>(kBlockSize / (n * row), 1, batches);
  for (int64_t batch = 0; batch < batches; batch += together) {
    for (int64_t first = 0; first < n; first += rows) {
      f(Block{batch, std::min(together, batches - batch), first, std::min(rows, n - first)});
    }
  }
}

Tensor batches_in(const Tensor& tensor, const Block& block) {
  return sliced(tensor, {.dim = 0, .start = block.batch, .length = block.batches});
}
Tensor rows_in(const Tensor& tensor, const Block& block) {
  return sliced(batches_in(tensor, block), {.dim = 1, .start = block.row, .length = block.rows});
}

// A view of [batches, x, d] or [batches, rows, m] with a dimension of size 1 at `dim`.
View with_one(const Tensor& tensor, int dim) {
  View view = tensor.view();
  Shape shape, strides;
  for (int i = 0; i <= view.rank(); ++i) {
    shape.push_back(i == dim ? 1 : view.shape[i < dim ? i : i - 1]);
    strides.push_back(i == dim ? 1 : view.strides[i < dim ? i : i - 1]);
  }
  view.shape = shape;
  view.strides = strides;
  return view;
}

View repeated(View view, int dim, int64_t count) {
  view.shape[dim] = count;
  view.strides[dim] = 0;
  return view;
}

void compute(ContextDevice& device, BinaryOp op, const View& a, const View& b, const View& out) {
  launch("cdist", device, &Kernels::elementwise, &ElementwiseKernels::binary, op, a, b, out);
}

// a - b for the pairs of a block: [batches, rows, m, d].
Tensor differences(const Tensor& a, const Tensor& b, const Block& block) {
  const Tensor result = empty(a.device(), a.dtype(), {block.batches, block.rows, b.size(1), b.size(2)});
  compute(a.device(), BinaryOp::kSubtract, repeated(with_one(rows_in(a, block), 2), 2, b.size(1)),
          repeated(with_one(batches_in(b, block), 1), 1, block.rows), result.view());
  return result;
}

void norms_of(const Tensor& x, double p, const View& out) {
  if (!std::isinf(p))
    return launch("cdist", x.device(), &Kernels::reduce, &ReduceKernels::vector_norm, p, x.view(), out);
  launch("cdist", x.device(), &Kernels::elementwise, &ElementwiseKernels::unary, UnaryOp::kAbs, x.view(), x.view());
  launch("cdist", x.device(), &Kernels::reduce, &ReduceKernels::min_max, MinMax::kMax, x.view(), out);
}

// The gradients of the differences x. For p = infinity each of equal magnitudes has the gradient, as in PyTorch.
Tensor slopes_of(const Tensor& x, double p, const View& norms, const View& grad) {
  const Tensor slopes = empty_like(x);
  if (!std::isinf(p)) {
    launch("cdist", x.device(), &Kernels::reduce, &ReduceKernels::vector_norm_backward, p, grad, x.view(), norms,
           slopes.view());
    return slopes;
  }
  const Tensor is_largest = empty(x.device(), DType::kBool, x.shape());
  launch("cdist", x.device(), &Kernels::elementwise, &ElementwiseKernels::unary, UnaryOp::kAbs, x.view(),
         slopes.view());
  launch("cdist", x.device(), &Kernels::elementwise, &ElementwiseKernels::compare, CompareOp::kEqual, slopes.view(),
         repeated(norms, 3, x.size(3)), is_largest.view());
  launch("cdist", x.device(), &Kernels::elementwise, &ElementwiseKernels::unary, UnaryOp::kSign, x.view(),
         slopes.view());
  compute(x.device(), BinaryOp::kMultiply, slopes.view(), is_largest.view(), slopes.view());
  compute(x.device(), BinaryOp::kMultiply, slopes.view(), repeated(grad, 3, x.size(3)), slopes.view());
  return slopes;
}

struct CdistBackward final : Node {
  SavedTensor a, b;
  SavedTensor distances;
  double p;

  const char* name() const noexcept override { return "cdist"; }
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const Tensor &x = a.unpack(), &y = b.unpack(), &norms = distances.unpack();
    const Tensor of_x = full(x.device(), x.dtype(), x.shape(), 0), of_y = full(y.device(), y.dtype(), y.shape(), 0);
    for_each_block(x, y, [&](const Block& block) {
      if (x.size(2) == 0) return;
      const Tensor slopes = slopes_of(differences(x, y, block), p, with_one(rows_in(norms, block), 3),
                                      with_one(rows_in(grads[0], block), 3));
      add_up(slopes, 1, with_one(rows_in(of_x, block), 2));
      add_up(slopes, -1, with_one(batches_in(of_y, block), 1));
    });
    if (inputs.needs(0)) inputs.set(0, of_x);
    if (inputs.needs(1)) inputs.set(1, of_y);
  }
  void release_saved() noexcept override {
    a.reset();
    b.reset();
    distances.reset();
  }

 private:
  static void add_up(const Tensor& slopes, double sign, const View& out) {
    launch("cdist", slopes.device(), &Kernels::reduce, &ReduceKernels::sum, slopes.view(), sign, Store::kAdd, out);
  }
};

// REQUIRES: [batches, n, d] and [batches, m, d] of one dtype.
Tensor distances_of(const Tensor& a, const Tensor& b, double p) {
  const Tensor result = full(a.device(), a.dtype(), {a.size(0), a.size(1), b.size(1)}, 0);
  for_each_block(a, b, [&](const Block& block) {
    if (a.size(2) > 0) norms_of(differences(a, b, block), p, with_one(rows_in(result, block), 3));
  });
  if (auto* node = record<CdistBackward>(result, {&a, &b})) {
    node->a = SavedTensor(a);
    node->b = SavedTensor(b);
    node->distances = SavedTensor(result.detach());
    node->p = p;
  }
  return result;
}

void require_rows(const Tensor& a, const Tensor& b) {
  require_same_device(a, "a", b, "b");
  for (const auto& [tensor, argument] : {std::pair(&a, "a"), std::pair(&b, "b")}) {
    if (tensor->rank() >= 2) continue;
    fail(Code::kShapeMismatch, argument, "%s %s has %d dimensions, expected at least 2", argument,
         ShapeText(tensor->shape()).text, tensor->rank());
  }
  if (a.size(a.rank() - 1) == b.size(b.rank() - 1)) return;
  fail(Code::kShapeMismatch, "b", "vectors of b %s and a %s have different lengths", ShapeText(b.shape()).text,
       ShapeText(a.shape()).text);
}

Shape leading(const Tensor& tensor) { return Shape(tensor.shape().begin(), tensor.rank() - 2); }

Shape with_last(Shape batch, int64_t rows, int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

// The batches as one dimension, repeated to the common ones.
Tensor in_batches(const Tensor& tensor, const Shape& batch) {
  const int64_t rows = tensor.size(tensor.rank() - 2), length = tensor.size(tensor.rank() - 1);
  return reshape(broadcast_to(tensor, with_last(batch, rows, length)), {numel(batch), rows, length});
}

}  // namespace

Tensor cdist(const Tensor& given_a, const Tensor& given_b, double p) {
  require_rows(given_a, given_b);
  const auto [a, own] = wide_operand(Op::kCdist, given_a, "a");
  const auto [b, other] = wide_operand(Op::kCdist, given_b, "b");
  const WithoutAutocast parts;
  const Shape batch = broadcast_shapes(leading(a), leading(b), a.shape(), b.shape());
  const DType wide = promote(a.dtype(), b.dtype());
  const Tensor x = in_batches(cast(a, wide), batch), y = in_batches(cast(b, wide), batch);
  const Shape shape = with_last(batch, x.size(1), y.size(1));
  return cast(reshape(distances_of(x, y, p), checked_shape(shape.begin(), shape.rank(), "b")), promote(own, other));
}

}  // namespace halftone::ops
