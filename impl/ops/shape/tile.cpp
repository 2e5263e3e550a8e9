#include "ops/shape/tile.h"

#include <algorithm>

#include "core/error.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/binary.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"

namespace halftone::ops {

namespace {

// `values` with ones in front, up to `rank` dimensions.
Shape with_ones(const Shape& values, int rank) {
  Shape result;
  for (int i = values.rank(); i < rank; ++i) result.push_back(1);
  for (const int64_t value : values) result.push_back(value);
  return result;
}

// The elements before and from one dimension on: row-major memory as [outer, inner].
struct Halves {
  Halves(const Shape& shape, int dim) {
    for (int i = 0; i < shape.rank(); ++i) (i < dim ? outer : inner) *= shape[i];
  }

  int64_t outer = 1;
  int64_t inner = 1;
};

Tensor repeated(const Tensor& tensor, int dim, int64_t times) {
  const Halves halves(tensor.shape(), dim);
  Shape shape = tensor.shape();
  shape[dim] *= times;
  const Tensor blocks = reshaped(tensor, {halves.outer, 1, halves.inner});
  return reshaped(expanded(blocks, {halves.outer, times, halves.inner}), shape);
}

// The reverse of repeated(): the sum of the copies.
Tensor folded(const Tensor& grad, const Shape& shape, int dim, int64_t times, DType dtype) {
  const Halves halves(shape, dim);
  const Tensor copies = reshaped(grad, {halves.outer, times, halves.inner});
  return reshaped(reduce_to(copies, {halves.outer, 1, halves.inner}, dtype), shape);
}

struct TileBackward final : Node {
  Shape repeats;  // of every dimension of the result
  Shape shape;    // of the input
  DType dtype;

  const char* name() const noexcept override { return "tile"; }
  // Adds up in a wide dtype, so that the gradient is rounded once.
  void backward(const std::vector<Tensor>& grads, InputGrads& inputs) override {
    const DType wide = compute_dtype_of_gradient(grads[0], dtype);
    Tensor grad = grads[0];
    Shape folded_shape = grad.shape();
    for (int i = 0; i < repeats.rank(); ++i) {
      if (repeats[i] == 1) continue;
      folded_shape[i] = i < repeats.rank() - shape.rank() ? 1 : shape[i - repeats.rank() + shape.rank()];
      grad = folded(grad, folded_shape, i, repeats[i], wide);
    }
    const Tensor whole = reshaped(grad, shape);
    inputs.set(0, whole.dtype() == dtype ? whole : converted(whole, dtype));
  }
  void release_saved() noexcept override {}
};

// Refuses what is negative, and a result that is too large.
void require_repeats(const Shape& repeats, const Shape& shape) {
  Shape result;
  for (int i = 0; i < shape.rank(); ++i) {
    int64_t size;
    if (repeats[i] < 0 || __builtin_mul_overflow(shape[i], repeats[i], &size)) {
      fail(Code::kInvalidArgument, "repeats", "repeats[%d]=%lld gives no size for %lld elements", i,
           static_cast<long long>(repeats[i]), static_cast<long long>(shape[i]));
    }
    result.push_back(size);
  }
  checked_shape(result.begin(), result.rank(), "repeats");
}

}  // namespace

Tensor tile(const Tensor& input, const Shape& given) {
  const int rank = std::max(input.rank(), given.rank());
  const Shape repeats = with_ones(given, rank);
  const Shape shape = with_ones(input.shape(), rank);
  require_repeats(repeats, shape);
  Tensor result = reshaped(input, shape);
  for (int i = 0; i < rank; ++i) {
    if (repeats[i] != 1) result = repeated(result, i, repeats[i]);
  }
  if (result.storage() == input.storage()) result = converted(result, result.dtype());
  if (auto* node = record<TileBackward>(result, {&input})) {
    node->repeats = repeats;
    node->shape = input.shape();
    node->dtype = input.dtype();
  }
  return result;
}

}  // namespace halftone::ops
