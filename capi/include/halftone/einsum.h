/* Products of two tensors in Einstein's notation. */
#ifndef HALFTONE_EINSUM_H
#define HALFTONE_EINSUM_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Multiplies two tensors and sums over dimensions, as an equation such as "bij,bjk->bik" says: each letter names a
 * dimension of a, of b and of the result, and products are summed over the letters that the result lacks. The work is
 * done by htone_matmul; operands are copied where their strides do not merge.
 *
 * [in] equation: letters, one for each dimension of a, a comma, those of b, then "->" and those of the result; without
 *   "->" the result has the letters that stand in one operand alone, in alphabetical order. Spaces count nothing.
 *   Unlike in PyTorch there are always two operands, no letter twice in one of them, no "..." and no repeating of sizes
 *   of 1.
 * [in] a: float; borrowed.
 * [in] b: dtype of a; borrowed.
 * [out] out: dtype of a; owned by the caller.
 * Autocast: low precision.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT (the equation, with the place), SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE,
 *   OUT_OF_MEMORY.
 * Precision: as htone_matmul; a letter of one operand alone that the result lacks is summed first, as htone_sum does,
 *   which rounds once more.
 * Since: 0.1
 */
HTONE_API htone_status htone_einsum(const char* equation, htone_tensor* a, htone_tensor* b, htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
