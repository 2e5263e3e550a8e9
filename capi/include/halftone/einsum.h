/** @file
 * Sums and products of tensors in Einstein's notation.
 */
#ifndef HALFTONE_EINSUM_H
#define HALFTONE_EINSUM_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Multiplies two tensors and sums over dimensions, as an equation such as "bij,bjk->bik" says: each letter names a
 * dimension of a, of b and of the result, and products are summed over the letters that the result lacks. The work is
 * done by htone_matmul; operands are copied if their strides do not merge. Of one tensor ("ij->ji", "bij->b") it is
 * a sum and a permutation. A letter that one tensor has twice takes its diagonal: "ii->i", and "ii->" is the trace.
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
