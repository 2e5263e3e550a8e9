/** @file
 * Products of matrices, linear layers, and sums of products in Einstein's notation.
 *
 * @code
 * check(htone_transpose(x, 0, 1, &y));
 * check(htone_matmul(x, y, &y)); // [2, 2]
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(values[0] == 14 && values[3] == 77);
 * @endcode
 */
#ifndef HALFTONE_LINEAR_ALGEBRA_H
#define HALFTONE_LINEAR_ALGEBRA_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Multiplies matrices: out = a b; further leading dimensions are batches that broadcast. A vector a is a row, a vector
 * b a column, and the result has no dimension for it: the product of two vectors is a scalar.
 *
 * @param[in] a [..., m, k] or [k], float; borrowed.
 * @param[in] b [..., k, n] or [k], dtype of a; borrowed.
 * @param[out] out [..., m, n], without m or n of a vector; dtype of a; owned by the caller.
 * @autocast low precision.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision products and sums in FP32 (f64: double), one rounding; error at most k eps times the sum of |a| |b|. bf16
 *   may treat subnormal elements and sums as zero: 2 k 2^-126 max(1, |a|, |b|) more.
 * @since 0.1
 */
HTONE_API htone_status htone_matmul(htone_tensor* a, htone_tensor* b, htone_tensor** out);

/** Applies a linear layer: out = input weight^T + bias.
 *
 * @param[in] input [..., in], float; borrowed.
 * @param[in] weight [out, in], or [in] for one output; dtype of input; borrowed.
 * @param[in] bias optional; [out], for a weight of one dimension a scalar; dtype of input; borrowed.
 * @param[out] out [..., out], for a weight of one dimension [...]; dtype of input; owned by the caller.
 * @autocast low precision.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision as htone_matmul; the bias is added before the one rounding.
 * @since 0.1
 */
HTONE_API htone_status htone_linear(htone_tensor* input, htone_tensor* weight, htone_tensor* bias, htone_tensor** out);

/** The activations of htone_linear_activation and htone_activation_linear. */
typedef enum htone_activation {
  HTONE_ACTIVATION_RELU = 1,             /**< as htone_relu */
  HTONE_ACTIVATION_GELU_ERF = 2,         /**< as htone_gelu with HTONE_GELU_ERF */
  HTONE_ACTIVATION_GELU_TANH = 3,        /**< as htone_gelu with HTONE_GELU_TANH */
  HTONE_ACTIVATION_SILU = 4,             /**< as htone_silu */
  HTONE_ACTIVATION_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_activation;

/** Applies a linear layer and an activation in one pass over memory: out = activation(input weight^T + bias). For
 * backward it keeps what the activation was applied to, in the dtype of out; for RELU out alone. In f32 and f64 the
 * result has the bits of the two operations.
 *
 * @param[in] input [..., in], float; borrowed.
 * @param[in] weight [out, in], dtype of input; borrowed.
 * @param[in] bias optional; [out], dtype of input; borrowed.
 * @param[in] activation one of htone_activation.
 * @param[out] out [..., out], dtype of input; owned by the caller.
 * @autocast low precision.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision as htone_linear and the activation in FP32 (f64: double), with one rounding at the end.
 * @since 0.1
 */
HTONE_API htone_status htone_linear_activation(htone_tensor* input, htone_tensor* weight, htone_tensor* bias,
                                               htone_activation activation, htone_tensor** out);

/** Applies an activation and then a linear layer: out = activation(input) weight^T + bias. For backward it keeps input
 * and weight, and computes activation(input) again, where htone_gelu and htone_linear keep activation(input) as well.
 * Results and gradients have the bits of the two operations, unless HTONE_DEVICE_FUSED_GELU is 1.
 *
 * @param[in] input [..., in], float; borrowed.
 * @param[in] weight [out, in], dtype of input; borrowed.
 * @param[in] bias optional; [out], dtype of input; borrowed.
 * @param[in] activation one of htone_activation.
 * @param[out] out [..., out], dtype of input; owned by the caller.
 * @autocast low precision; the activation is computed in the dtype of input, and its result is cast.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision as the activation, whose result is rounded to the dtype of input, and then as htone_linear.
 * @since 0.1
 */
HTONE_API htone_status htone_activation_linear(htone_tensor* input, htone_tensor* weight, htone_tensor* bias,
                                               htone_activation activation, htone_tensor** out);

/** Multiplies two tensors and sums over dimensions, as an equation such as "bij,bjk->bik" says: each letter names a
 * dimension of a, of b and of the result, and products are summed over the letters that the result lacks. The work is
 * done by htone_matmul; operands are copied if their strides do not merge. Of one tensor ("ij->ji", "bij->b") it is
 * a sum and a permutation. A letter that one tensor has twice means its diagonal: "ii->i", and "ii->" is the trace.
 *
 * @param[in] equation letters, one for each dimension of a, a comma, those of b, then "->" and those of the result;
 *   without "->" the result has what "..." covers and then the letters that occur once, in alphabetical order. "..."
 *   stands for all dimensions that no letter names; those of both operands are aligned at the last. Sizes of 1 repeat,
 *   but not along a diagonal. Spaces are ignored. Unlike in PyTorch there are at most two operands.
 * @param[in] a float; borrowed.
 * @param[in] b optional, where the equation has one operand; dtype of a; borrowed.
 * @param[out] out dtype of a; of one operand it may be a view of a; owned by the caller.
 * @autocast low precision; of one operand as htone_sum and htone_permute.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (the equation, with the place), SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE,
 *   OUT_OF_MEMORY.
 * @precision as htone_matmul; a letter of one operand alone that the result lacks is summed first, as htone_sum does,
 *   which rounds once more.
 * @source torch.einsum.
 * @since 0.1
 */
HTONE_API htone_status htone_einsum(const char* equation, htone_tensor* a, htone_tensor* b, htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
