#include "ops/norm/affine.h"

#include "core/error.h"
#include "ops/dispatch/check.h"
#include "ops/reduce/reduction.h"
#include "ops/shape/stride.h"
#include "tensor/factory.h"

namespace halftone {

void require_affine(const Tensor& input, const Tensor& values, const char* name, const Shape& shape) {
  if (!values.defined()) return;
  require_float(values, name);
  require_same_device(input, "input", values, name);
  if (values.shape() == shape) return;
  fail(Code::kShapeMismatch, name, "%s %s differs from %s", name, ShapeText(values.shape()).text,
       ShapeText(shape).text);
}

Tensor affine_operand(const Tensor& values, DType compute) {
  if (!values.defined()) return values;
  return values.dtype() == compute ? contiguous(values) : converted(values, compute);
}

Tensor affine_gradient(const char* operation, const Tensor& sums, DType dtype, const Shape& shape) {
  return reshaped(apply_sum(operation, sums, plan_reduction(sums.shape(), {0}, false), 1.0, dtype), shape);
}

}  // namespace halftone
