/** @file
 * Connectionist temporal classification: a loss for sequences whose alignment with the input is not known. The
 * conventions of ops.h apply.
 *
 * @code
 * const int64_t shape[] = {2, 1, 3}, matrix[] = {1, 1}, label = 1, times = 2, length = 1;
 * htone_tensor *targets, *input_lengths, *target_lengths;
 * check(htone_reshape(x, 3, shape, &y)); // two times, one sequence, three classes of which 0 is the blank
 * check(htone_log_softmax(y, 2, &y));
 * check(htone_tensor_create_copy(device, HTONE_I64, 2, matrix, &label, &targets));
 * check(htone_tensor_create_copy(device, HTONE_I64, 1, matrix, &times, &input_lengths));
 * check(htone_tensor_create_copy(device, HTONE_I64, 1, matrix, &length, &target_lengths));
 * check(htone_ctc_loss(y, targets, input_lengths, target_lengths, 0, HTONE_REDUCTION_MEAN, 0, &y));
 * check(htone_tensor_item(y, &number));
 * assert(number > 1 && number < 3);
 * @endcode
 */
#ifndef HALFTONE_CTC_H
#define HALFTONE_CTC_H

#include "halftone/loss.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Returns minus the logarithm of the probability of each target: the sum over all alignments in which labels repeat
 * and blanks lie between them.
 *
 * @param[in] log_probabilities [t, n, c], or [t, c] for one sequence, float: logarithms of probabilities of the
 *   classes at each time, such as those of htone_log_softmax; borrowed.
 * @param[in] targets [n, s], or [s] for one sequence, i64 or i32, in [0, c) and not the blank; elements beyond a
 *   target's length may have any value; borrowed.
 * @param[in] input_lengths [n], or a scalar for one sequence, i64 or i32, in [0, t]; borrowed.
 * @param[in] target_lengths [n], or a scalar for one sequence, i64 or i32, in [0, s]; borrowed.
 * @param[in] blank the class of the blank, in [0, c).
 * @param[in] reduction MEAN, SUM or NONE; MEAN first divides each loss by the length of its target, at least 1.
 * @param[in] zero_infinity not 0: an infinite loss, of a target that is too long for its input, counts as 0 and has no
 *   gradient. Otherwise its gradient is NaN.
 * @param[out] out an f32 scalar (f64 for f64), or for NONE [n] or a scalar in the dtype of log_probabilities (f32 under
 *   autocast); owned by the caller.
 * @autocast FP32; 16-bit log_probabilities are read as they are and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also a label or a length out of range), SHAPE_MISMATCH, DTYPE_MISMATCH,
 *   DEVICE, OUT_OF_MEMORY.
 * @precision sums of logarithms in double, one rounding. [n, t, 2 s + 1] numbers of f64 are kept for backward.
 * @source Graves et al., "Connectionist Temporal Classification", ICML 2006; torch.nn.functional.ctc_loss.
 * @since 0.1
 */
HTONE_API htone_status htone_ctc_loss(htone_tensor* log_probabilities, htone_tensor* targets,
                                      htone_tensor* input_lengths, htone_tensor* target_lengths, int64_t blank,
                                      htone_reduction reduction, int32_t zero_infinity, htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
