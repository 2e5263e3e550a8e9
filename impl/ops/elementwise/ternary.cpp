#include "ops/elementwise/ternary.h"

#include "ops/dispatch/broadcast.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone {

Tensor apply_ternary(const char* operation, TernaryOp op, const Three& operands, DType dtype) {
  const auto& [a, b, c] = operands;
  const Shape shape = broadcast_shapes(a.shape(), broadcast_shapes(b.shape(), c.shape()));
  Tensor result = empty(a.device(), dtype, shape);
  launch(operation, a.device(), &Kernels::elementwise, &ElementwiseKernels::ternary, op, expand(a, shape),
         expand(b, shape), expand(c, shape), result.view());
  return result;
}

}  // namespace halftone
