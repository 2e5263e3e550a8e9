// Operands of operations that are composed of others: in f32 (f64 for f64), so that 16-bit values are rounded once, in
// the result.
#pragma once

#include "autograd/scope.h"
#include "ops/dispatch/autocast.h"
#include "tensor/tensor.h"

namespace halftone {

// The input, by a recorded cast, and the dtype of the result. Throws DTYPE_MISMATCH naming `argument`.
AutocastUnary wide_operand(Op op, const Tensor& input, const char* argument);

// During the life of this object operations see no autocast policy: it has chosen the dtypes of the composed operation,
// whose parts must not choose again.
class WithoutAutocast {
 public:
  WithoutAutocast() noexcept { scope().autocast = nullptr; }

 private:
  const ScopeGuard restore_;
};

namespace ops {

// The larger of the input and `low`, with the gradient of the input: for divisors that must not be 0. NaN stays NaN.
Tensor at_least(const Tensor& input, double low);

}  // namespace ops
}  // namespace halftone
