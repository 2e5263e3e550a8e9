/** @file
 * Random initialisation. Element i of a fill depends only on the seed, the number of the fill and i, not on threads.
 *
 * @code
 * check(htone_init_kaiming_normal(x, HTONE_FAN_IN, HTONE_NONLINEARITY_RELU, 0));
 * check(htone_tensor_read(x, HTONE_F32, values, sizeof values));
 * assert(values[0] != 1);
 * check(htone_init_uniform(x, -1, 1));
 * @endcode
 */
#ifndef HALFTONE_INIT_H
#define HALFTONE_INIT_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Fills a tensor with uniform numbers in [low, high), from the context's seed and next random sequence.
 *
 * @param[in] tensor f64, f32, f16 or bf16; a leaf or outside autograd; borrowed.
 * @param[in] low,high finite, low below high.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, STATE.
 * @precision on a grid of 2^-24 of the range, rounded to the dtype (which may reach `high`).
 * @source Philox4x32-10, Salmon et al., SC 2011.
 * @since 0.1
 */
HTONE_API htone_status htone_init_uniform(htone_tensor* tensor, double low, double high);

/** Fills a tensor with normal numbers, from the context's seed and next random sequence.
 *
 * @param[in] tensor f64, f32, f16 or bf16; a leaf or outside autograd; borrowed.
 * @param[in] mean finite.
 * @param[in] std finite, at least 0.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, STATE.
 * @source Philox4x32-10 and Box-Muller.
 * @since 0.1
 */
HTONE_API htone_status htone_init_normal(htone_tensor* tensor, double mean, double std);

/** Fills a tensor with ones and zeros, from the context's seed and next random sequence.
 *
 * @param[in] tensor any dtype; a leaf or outside autograd; borrowed.
 * @param[in] p probability that an element is 1, in [0, 1].
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE.
 * @precision p on a grid of 2^-24.
 * @source Philox4x32-10.
 * @since 0.1
 */
HTONE_API htone_status htone_init_bernoulli(htone_tensor* tensor, double p);

/** The number of a weight's connections that an initialisation keeps the variance for. Of a weight [out, in, ...] they
 * are the sizes 1 (in) and 0 (out), each times the product of the sizes behind them.
 */
typedef enum htone_fan_mode {
  HTONE_FAN_IN = 0,                    /**< the inputs: keeps the variance in forward */
  HTONE_FAN_OUT = 1,                   /**< the outputs: keeps it in backward */
  HTONE_FAN_MODE_MAX_ENUM = 0x7FFFFFFF /**< not a mode: fixes the size of the type */
} htone_fan_mode;

/** The function behind a layer; HTONE_NONLINEARITY_LINEAR is none. */
typedef enum htone_nonlinearity {
  HTONE_NONLINEARITY_LINEAR = 0,           /**< none */
  HTONE_NONLINEARITY_SIGMOID = 1,          /**< htone_sigmoid */
  HTONE_NONLINEARITY_TANH = 2,             /**< htone_tanh */
  HTONE_NONLINEARITY_RELU = 3,             /**< htone_relu */
  HTONE_NONLINEARITY_LEAKY_RELU = 4,       /**< htone_leaky_relu */
  HTONE_NONLINEARITY_SELU = 5,             /**< the scaled exponential linear unit */
  HTONE_NONLINEARITY_MAX_ENUM = 0x7FFFFFFF /**< not a function: fixes the size of the type */
} htone_nonlinearity;

/** Returns the factor on a weight's standard deviation that a nonlinearity asks for: 1 for linear and sigmoid, 5/3 for
 * tanh, sqrt(2) for relu, sqrt(2 / (1 + negative_slope^2)) for leaky_relu, 3/4 for selu.
 *
 * @param[in] nonlinearity one of HTONE_NONLINEARITY_...
 * @param[in] negative_slope of leaky_relu; finite; the others ignore it.
 * @param[out] out_gain the factor.
 * @errors INVALID_ARGUMENT.
 * @precision double.
 * @source torch.nn.init.calculate_gain.
 * @since 0.1
 */
HTONE_API htone_status htone_init_gain(htone_nonlinearity nonlinearity, double negative_slope, double* out_gain);

/** Fills a weight with uniform numbers in [-b, b), b = gain sqrt(3 / fan), from the context's seed and next sequence.
 *
 * @param[in] tensor [out, in, ...], f64, f32, f16 or bf16; a leaf or outside autograd; borrowed. An empty one stays.
 * @param[in] mode HTONE_FAN_IN or HTONE_FAN_OUT.
 * @param[in] nonlinearity as of htone_init_gain, which gives the gain.
 * @param[in] negative_slope as of htone_init_gain.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH (fewer than 2 dimensions), DTYPE_MISMATCH, STATE.
 * @precision as htone_init_uniform.
 * @source He et al., arXiv:1502.01852; torch.nn.init.kaiming_uniform_.
 * @since 0.1
 */
HTONE_API htone_status htone_init_kaiming_uniform(htone_tensor* tensor, htone_fan_mode mode,
                                                  htone_nonlinearity nonlinearity, double negative_slope);

/** Fills a weight with normal numbers of mean 0 and standard deviation gain / sqrt(fan), from the context's seed and
 * next sequence.
 *
 * @param[in] tensor [out, in, ...], f64, f32, f16 or bf16; a leaf or outside autograd; borrowed. An empty one stays.
 * @param[in] mode HTONE_FAN_IN or HTONE_FAN_OUT.
 * @param[in] nonlinearity as of htone_init_gain, which gives the gain.
 * @param[in] negative_slope as of htone_init_gain.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH (fewer than 2 dimensions), DTYPE_MISMATCH, STATE.
 * @source He et al., arXiv:1502.01852; torch.nn.init.kaiming_normal_.
 * @since 0.1
 */
HTONE_API htone_status htone_init_kaiming_normal(htone_tensor* tensor, htone_fan_mode mode,
                                                 htone_nonlinearity nonlinearity, double negative_slope);

/** Fills a weight with uniform numbers in [-b, b), b = gain sqrt(6 / (fan in + fan out)), from the context's seed and
 * next sequence.
 *
 * @param[in] tensor [out, in, ...], f64, f32, f16 or bf16; a leaf or outside autograd; borrowed. An empty one stays.
 * @param[in] gain finite, at least 0.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH (fewer than 2 dimensions), DTYPE_MISMATCH, STATE.
 * @precision as htone_init_uniform.
 * @source Glorot and Bengio, AISTATS 2010; torch.nn.init.xavier_uniform_.
 * @since 0.1
 */
HTONE_API htone_status htone_init_xavier_uniform(htone_tensor* tensor, double gain);

/** Fills a weight with normal numbers of mean 0 and standard deviation gain sqrt(2 / (fan in + fan out)), from the
 * context's seed and next sequence.
 *
 * @param[in] tensor [out, in, ...], f64, f32, f16 or bf16; a leaf or outside autograd; borrowed. An empty one stays.
 * @param[in] gain finite, at least 0.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH (fewer than 2 dimensions), DTYPE_MISMATCH, STATE.
 * @source Glorot and Bengio, AISTATS 2010; torch.nn.init.xavier_normal_.
 * @since 0.1
 */
HTONE_API htone_status htone_init_xavier_normal(htone_tensor* tensor, double gain);

/** Fills a tensor with normal numbers that are in [low, high], from the context's seed and next sequence. Draws on the
 * thread of the caller, so a large tensor takes longer than with htone_init_normal.
 *
 * @param[in] tensor f64, f32, f16 or bf16; a leaf or outside autograd; borrowed.
 * @param[in] mean finite; of the normal numbers before the others are left out.
 * @param[in] std finite, at least 0; 0 gives the mean, or the bound next to it.
 * @param[in] low finite.
 * @param[in] high finite, at least low.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, STATE, OUT_OF_MEMORY.
 * @precision the quantile of a uniform number with 53 bits, in double; rounded to the dtype, which may reach beyond a
 *   bound that the dtype lacks.
 * @source Wichura, Algorithm AS 241, Applied Statistics 37, 1988; torch.nn.init.trunc_normal_.
 * @since 0.1
 */
HTONE_API htone_status htone_init_truncated_normal(htone_tensor* tensor, double mean, double std, double low,
                                                   double high);

/** Fills a weight with a random matrix whose rows are orthogonal and of one length, or its columns where there are more
 * rows than columns; from the context's seed and next sequence. A weight of more dimensions is a matrix of its first
 * size and the product of the others.
 *
 * @param[in] tensor [rows, columns, ...], f64, f32, f16 or bf16; a leaf or outside autograd; borrowed. An empty one
 *   stays.
 * @param[in] gain the length; finite.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH (fewer than 2 dimensions), DTYPE_MISMATCH, STATE,
 *   OUT_OF_MEMORY.
 * @precision products of vectors in FP32 (f64: double), rounded to the dtype.
 * @source Saxe et al., arXiv:1312.6120; torch.nn.init.orthogonal_, with Gram and Schmidt's method for the factors.
 * @since 0.1
 */
HTONE_API htone_status htone_init_orthogonal(htone_tensor* tensor, double gain);

#ifdef __cplusplus
}
#endif

#endif
