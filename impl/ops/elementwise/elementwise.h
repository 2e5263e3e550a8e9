// The operations of arithmetic.h, activation.h and elementwise.h in capi/include/halftone, where they are documented;
// included by ops/ops.h.
#pragma once

#include "backend/formula/closeness.h"
#include "tensor/tensor.h"

namespace halftone::ops {

Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
// input + value * a * b
Tensor addcmul(const Tensor& input, const Tensor& a, const Tensor& b, double value);
// input + value * a / b
Tensor addcdiv(const Tensor& input, const Tensor& a, const Tensor& b, double value);
// input + weight * (end - input)
Tensor lerp(const Tensor& input, const Tensor& end, const Tensor& weight);
Tensor lerp_scalar(const Tensor& input, const Tensor& end, double weight);

enum class GeluForm { kErf, kTanh };
Tensor relu(const Tensor& input);
Tensor gelu(const Tensor& input, GeluForm form);
Tensor glu(const Tensor& input, int64_t dim);
// `weight` has one element, or one for each index of dimension 1.
Tensor prelu(const Tensor& input, const Tensor& weight);
Tensor rescale(const Tensor& input, double scale, double offset);

// Functions of one input. Integers and bools give f32 if the function's values are not integers.
Tensor exp(const Tensor& input);
Tensor log(const Tensor& input);
Tensor sqrt(const Tensor& input);
Tensor rsqrt(const Tensor& input);
Tensor reciprocal(const Tensor& input);
Tensor abs(const Tensor& input);
Tensor neg(const Tensor& input);
Tensor sin(const Tensor& input);
Tensor cos(const Tensor& input);

Tensor sigmoid(const Tensor& input);
Tensor tanh(const Tensor& input);
Tensor silu(const Tensor& input);
Tensor softplus(const Tensor& input);
Tensor hardswish(const Tensor& input);
Tensor mish(const Tensor& input);
Tensor selu(const Tensor& input);
Tensor log_sigmoid(const Tensor& input);

// Functions of capi/include/halftone/elementwise.h and activation.h.
Tensor floor(const Tensor& input);
Tensor ceil(const Tensor& input);
Tensor round(const Tensor& input);
Tensor trunc(const Tensor& input);
Tensor sign(const Tensor& input);
Tensor erf(const Tensor& input);
Tensor log1p(const Tensor& input);
Tensor expm1(const Tensor& input);
Tensor tan(const Tensor& input);
Tensor log2(const Tensor& input);
Tensor log10(const Tensor& input);
// NaN for `positive` is the largest finite number of the input's dtype, for `negative` the lowest.
Tensor nan_to_num(const Tensor& input, double nan, double positive, double negative);
Tensor leaky_relu(const Tensor& input, double negative_slope);
Tensor elu(const Tensor& input, double alpha);

Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor fmod(const Tensor& a, const Tensor& b);
Tensor remainder(const Tensor& a, const Tensor& b);
// Its gradients are 0.
Tensor floor_divide(const Tensor& a, const Tensor& b);
Tensor atan2(const Tensor& a, const Tensor& b);
Tensor logaddexp(const Tensor& a, const Tensor& b);
Tensor pow(const Tensor& base, const Tensor& exponent);
Tensor pow_scalar(const Tensor& input, double exponent);
// Either bound may be infinite.
Tensor clamp(const Tensor& input, double low, double high);

// The result is bool, so these are not differentiable.
Tensor eq(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, const Tensor& b);
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_xor(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& input);
Tensor is_nan(const Tensor& input);
Tensor is_finite(const Tensor& input);
Tensor is_inf(const Tensor& input);
Tensor is_close(const Tensor& a, const Tensor& b, const Closeness& closeness);

// Bits of integers and bools.
Tensor bitwise_and(const Tensor& a, const Tensor& b);
Tensor bitwise_or(const Tensor& a, const Tensor& b);
Tensor bitwise_xor(const Tensor& a, const Tensor& b);
Tensor bitwise_not(const Tensor& input);

// a where the condition is true, else b.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);

}  // namespace halftone::ops
