/** @file
 * Losses. The conventions of ops.h apply. Shapes never broadcast: a loss between
 * tensors of different shapes is usually a mistake.
 *
 * A reduced loss of 16-bit inputs is f32, inside and outside autocast scopes: backward of a scaled f16 loss would begin
 * with the scale, 65536 at first, which f16 cannot represent.
 *
 * @code
 * const int64_t size = 2, classes[] = {2, 0};
 * htone_cross_entropy_options options = HTONE_CROSS_ENTROPY_OPTIONS_INIT;
 * htone_tensor* targets;
 * options.label_smoothing = 0.1;
 * check(htone_tensor_create_copy(device, HTONE_I64, 1, &size, classes, &targets));
 * check(htone_cross_entropy(x, targets, &options, &y)); // NULL options are the defaults
 * check(htone_tensor_item(y, &number));
 * assert(number > 1 && number < 2);
 * @endcode
 */
#ifndef HALFTONE_LOSS_H
#define HALFTONE_LOSS_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How the losses of elements or rows are combined. */
typedef enum htone_reduction {
  HTONE_REDUCTION_MEAN = 0,             /**< their mean: a scalar, NaN if there are none */
  HTONE_REDUCTION_SUM = 1,              /**< their sum: a scalar */
  HTONE_REDUCTION_NONE = 2,             /**< no reduction: one loss for each element or row */
  HTONE_REDUCTION_BATCH_MEAN = 3,       /**< only htone_kl_div: their sum divided by the first size; NaN if that is 0 */
  HTONE_REDUCTION_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_reduction;

/** Returns the squared difference: (input - target)^2.
 *
 * @param[in] input any shape, float; borrowed.
 * @param[in] target shape of input, float; borrowed.
 * @param[in] reduction MEAN, SUM or NONE.
 * @param[out] out an f32 scalar (f64 for f64), or for NONE shape of input in the promoted dtype (f32 under autocast);
 *   owned by the caller.
 * @autocast FP32; 16-bit operands are read as they are and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision FP32 (f64: double), summed pairwise, one rounding.
 * @since 0.1
 */
HTONE_API htone_status htone_mse_loss(htone_tensor* input, htone_tensor* target, htone_reduction reduction,
                                      htone_tensor** out);

/** Returns the absolute difference: |input - target|; the gradient at 0 is 0, NaN stays NaN.
 *
 * @param[in] input any shape, float; borrowed.
 * @param[in] target shape of input, float; borrowed.
 * @param[in] reduction MEAN, SUM or NONE.
 * @param[out] out an f32 scalar (f64 for f64), or for NONE shape of input in the promoted dtype (f32 under autocast);
 *   owned by the caller.
 * @autocast FP32; 16-bit operands are read as they are and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision FP32 (f64: double), summed pairwise, one rounding.
 * @since 0.1
 */
HTONE_API htone_status htone_l1_loss(htone_tensor* input, htone_tensor* target, htone_reduction reduction,
                                     htone_tensor** out);

/** Returns d^2 / (2 beta) for a difference d with |d| below beta, else |d| - beta / 2.
 *
 * @param[in] input any shape, float; borrowed.
 * @param[in] target shape of input, float; borrowed.
 * @param[in] beta not negative, finite; 0 means htone_l1_loss.
 * @param[in] reduction MEAN, SUM or NONE.
 * @param[out] out an f32 scalar (f64 for f64), or for NONE shape of input in the promoted dtype (f32 under autocast);
 *   owned by the caller.
 * @autocast FP32; 16-bit operands are read as they are and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision FP32 (f64: double), summed pairwise, one rounding.
 * @source Girshick, arXiv:1504.08083, with beta as in torch.nn.SmoothL1Loss.
 * @since 0.1
 */
HTONE_API htone_status htone_smooth_l1_loss(htone_tensor* input, htone_tensor* target, double beta,
                                            htone_reduction reduction, htone_tensor** out);

/** Returns d^2 / 2 for a difference d with |d| below delta, else delta (|d| - delta / 2).
 *
 * @param[in] input any shape, float; borrowed.
 * @param[in] target shape of input, float; borrowed.
 * @param[in] delta above 0, finite.
 * @param[in] reduction MEAN, SUM or NONE.
 * @param[out] out an f32 scalar (f64 for f64), or for NONE shape of input in the promoted dtype (f32 under autocast);
 *   owned by the caller.
 * @autocast FP32; 16-bit operands are read as they are and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision FP32 (f64: double), summed pairwise, one rounding.
 * @source Huber, Annals of Mathematical Statistics 35 (1964), with delta as in torch.nn.HuberLoss.
 * @since 0.1
 */
HTONE_API htone_status htone_huber_loss(htone_tensor* input, htone_tensor* target, double delta,
                                        htone_reduction reduction, htone_tensor** out);

/** Returns the Kullback-Leibler divergence of targets from log-probabilities: t (log(t) - input), 0 log(0) being 0.
 *
 * @param[in] input log-probabilities of any shape, float; borrowed.
 * @param[in] target shape of input, float: probabilities, or their logarithms; borrowed.
 * @param[in] log_target not 0: target holds logarithms.
 * @param[in] reduction any; MEAN divides by the number of elements and does not return the divergence; BATCH_MEAN
 *   does.
 * @param[out] out an f32 scalar (f64 for f64), or for NONE shape of input in the promoted dtype (f32 under autocast);
 *   owned by the caller.
 * @autocast FP32; 16-bit operands are read as they are and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision FP32 (f64: double), summed pairwise, one rounding.
 * @source torch.nn.functional.kl_div.
 * @since 0.1
 */
HTONE_API htone_status htone_kl_div(htone_tensor* input, htone_tensor* target, int32_t log_target,
                                    htone_reduction reduction, htone_tensor** out);

/** Returns the binary cross entropy of logits x: p t log(1 + e^-x) + (1 - t) log(1 + e^x), p being pos_weight.
 *
 * @param[in] logits any shape, float; borrowed.
 * @param[in] targets shape of logits, float, usually in [0, 1]; borrowed.
 * @param[in] pos_weight optional; float, broadcasts to logits; must not require a gradient; borrowed.
 * @param[in] reduction MEAN, SUM or NONE.
 * @param[out] out an f32 scalar (f64 for f64), or for NONE shape of logits in the promoted dtype (f32 under autocast);
 *   owned by the caller.
 * @autocast FP32; 16-bit operands are read as they are and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED (pos_weight requires a gradient), SHAPE_MISMATCH,
 *   DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision FP32 (f64: double), without overflow for any logit; summed pairwise, one rounding. A loss is within 5 ulp
 *   for targets in [0, 1]. The gradient of a logit is within 3 eps (|1 - t| sigmoid(x) + |p t| sigmoid(-x)): it
 *   cancels if sigmoid(x) is near the target. The gradient of a target is -x for p = 1, without cancellation.
 * @source torch.nn.functional.binary_cross_entropy_with_logits.
 * @since 0.1
 */
HTONE_API htone_status htone_bce_with_logits(htone_tensor* logits, htone_tensor* targets, htone_tensor* pos_weight,
                                             htone_reduction reduction, htone_tensor** out);

/** Returns the binary cross entropy of probabilities x: -w (t log(x) + (1 - t) log(1 - x)), with logarithms of at least
 * -100. htone_bce_with_logits is more exact, and finite for every logit.
 *
 * @param[in] input probabilities of any shape, float; outside [0, 1] the loss is NaN; borrowed.
 * @param[in] target shape of input, float, usually in [0, 1]; borrowed.
 * @param[in] weight optional; float, broadcasts to input: w; borrowed.
 * @param[in] reduction MEAN, SUM or NONE; MEAN divides by the number of elements.
 * @param[out] out an f32 scalar (f64 for f64), or for NONE shape of input in the promoted dtype (f32 under autocast);
 *   owned by the caller.
 * @autocast FP32; 16-bit operands are read as they are and widened. A probability of 16 bits is often rounded to 0 or
 *   1, so a model should return logits.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision FP32 (f64: double), summed pairwise, one rounding. The gradient of x is w (x - t) / max(x (1 - x), 1e-12).
 * @source torch.nn.functional.binary_cross_entropy.
 * @since 0.1
 */
HTONE_API htone_status htone_bce_loss(htone_tensor* input, htone_tensor* target, htone_tensor* weight,
                                      htone_reduction reduction, htone_tensor** out);

/** Returns the negative log-likelihood of targets t under normal distributions of means x and variances v: (log(v) +
 * (x - t)^2 / v) / 2, with variances of at least epsilon.
 *
 * @param[in] input the means, any shape, float; borrowed.
 * @param[in] target shape of input, float; borrowed.
 * @param[in] variance float: shape of input, that with a last dimension of 1, or that without the last dimension; a
 *   negative variance gives NaN; a variance below epsilon gets the gradient of epsilon; borrowed.
 * @param[in] full not 0 adds the constant log(2 pi) / 2.
 * @param[in] epsilon at least 0, finite.
 * @param[in] reduction MEAN, SUM or NONE.
 * @param[out] out an f32 scalar (f64 for f64), or for NONE shape of input in the promoted dtype (f32 under autocast);
 *   owned by the caller.
 * @autocast FP32; 16-bit operands are read as they are and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision FP32 (f64: double), summed pairwise, one rounding to 16 bits.
 * @source torch.nn.functional.gaussian_nll_loss.
 * @since 0.1
 */
HTONE_API htone_status htone_gaussian_nll_loss(htone_tensor* input, htone_tensor* target, htone_tensor* variance,
                                               int32_t full, double epsilon, htone_reduction reduction,
                                               htone_tensor** out);

/** Settings of htone_cross_entropy. */
typedef struct htone_cross_entropy_options {
  uint32_t struct_size;      /**< sizeof of this structure */
  htone_reduction reduction; /**< MEAN, SUM or NONE; default MEAN */
  int64_t ignore_index;      /**< rows with this target have no loss and no gradient and do not count; default -100 */
  double label_smoothing;    /**< share of the target that is spread evenly over the classes, in [0, 1]; default 0 */
  htone_tensor* weight;      /**< optional; [c], float: of each class; borrowed; default NULL */
} htone_cross_entropy_options;

/** The defaults, to initialize a htone_cross_entropy_options where it is declared. */
#define HTONE_CROSS_ENTROPY_OPTIONS_INIT \
  { sizeof(htone_cross_entropy_options), HTONE_REDUCTION_MEAN, -100, 0.0, NULL }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_cross_entropy_options_init(htone_cross_entropy_options* options);

/** Returns the cross entropy between logits and classes, with weights, ignored rows and smoothed labels. A row is a
 * list of c logits; further dimensions follow the classes.
 *
 * @param[in] logits [n, c, ...] or [c], float; borrowed.
 * @param[in] targets classes: shape of logits without c, i64 or i32, each in [0, c) or ignore_index. Or probabilities
 *   of the classes: shape of logits, float; they need not add up to 1 and get a gradient; borrowed.
 * @param[in] options optional; NULL means the defaults: the mean over all rows, without those whose target is -100.
 *   With probabilities ignore_index must be negative and has no effect, and weight may require a gradient.
 * @param[out] out an f32 scalar (f64 for f64), or for NONE shape of logits without c in the dtype of logits (f32 under
 *   autocast); owned by the caller. MEAN divides by the sum of the weights of the rows' targets, without ignored rows;
 *   with probabilities by the number of rows; NaN if that is 0.
 * @autocast FP32; 16-bit logits are read as they are and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also a target outside [0, c), found before anything is written),
 *   UNSUPPORTED (also: targets are classes and weight requires a gradient), SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE,
 *   OUT_OF_MEMORY.
 * @precision by log-sum-exp in FP32 (f64: double), summed pairwise. With probabilities a logit of -infinity gives NaN,
 *   also where its target is 0.
 * @source torch.nn.functional.cross_entropy; Szegedy et al., arXiv:1512.00567, for smoothing.
 * @since 0.1
 */
HTONE_API htone_status htone_cross_entropy(htone_tensor* logits, htone_tensor* targets,
                                           const htone_cross_entropy_options* options, htone_tensor** out);

/** Returns htone_cross_entropy of htone_linear(input, weight, bias) without its logits: some rows at a time are
 * computed, and once more in backward. With many classes this saves most of the memory of a language model's step, for
 * one more product of matrices in backward.
 *
 * @param[in] input [..., in_features], float; borrowed.
 * @param[in] weight [classes, in_features], dtype of input; borrowed.
 * @param[in] bias optional; [classes], dtype of input; borrowed.
 * @param[in] targets shape of input without the last dimension, i64 or i32, each in [0, classes) or ignore_index;
 *   borrowed.
 * @param[in] options optional; as for htone_cross_entropy with classes.
 * @param[out] out an f32 scalar (f64 for f64), or for NONE shape of targets in that dtype; owned by the caller.
 * @autocast low precision for the product; the loss is FP32.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also a target outside [0, classes)), UNSUPPORTED, SHAPE_MISMATCH,
 *   DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision logits and their gradients are not rounded: FP32 (f64: double). All gradients are summed in FP32.
 * @since 0.1
 */
HTONE_API htone_status htone_linear_cross_entropy(htone_tensor* input, htone_tensor* weight, htone_tensor* bias,
                                                  htone_tensor* targets, const htone_cross_entropy_options* options,
                                                  htone_tensor** out);

/** Returns the negative log-likelihood: minus the log-probability of each row's target.
 *
 * @param[in] log_probabilities [n, c, ...] or [c], float; borrowed.
 * @param[in] targets shape of log_probabilities without c, i64 or i32, each in [0, c) or ignore_index; borrowed.
 * @param[in] weight optional; [c], float: of each class; must not require a gradient; borrowed.
 * @param[in] ignore_index rows with this target have no loss and no gradient and do not count; -100 is usual.
 * @param[in] reduction MEAN, SUM or NONE.
 * @param[out] out as htone_cross_entropy for classes; owned by the caller.
 * @autocast FP32; 16-bit input is read as it is and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also a target outside [0, c), found before anything is written),
 *   UNSUPPORTED (weight requires a gradient), SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision one product in FP32 (f64: double), summed pairwise.
 * @since 0.1
 */
HTONE_API htone_status htone_nll_loss(htone_tensor* log_probabilities, htone_tensor* targets, htone_tensor* weight,
                                      int64_t ignore_index, htone_reduction reduction, htone_tensor** out);

/** Returns the share of rows whose largest logit is at the target. Never records for backward.
 *
 * @param[in] logits [n, c], float; borrowed.
 * @param[in] targets [n], i64 or i32, each in [0, c); borrowed.
 * @param[out] out scalar f32 in [0, 1]; owned by the caller. NaN if n is 0.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision exact count; one rounding.
 * @since 0.1
 */
HTONE_API htone_status htone_accuracy(htone_tensor* logits, htone_tensor* targets, htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
