/** @file
 * Distances and similarities of vectors, and losses of them. The conventions of ops.h apply.
 *
 * @code
 * check(htone_normalize(x, 2, -1, 1e-12, &y)); // rows of length 1
 * check(htone_cdist(y, y, 2, &y));             // [2, 2]
 * check(htone_tensor_numel(y, &count));
 * assert(count == 4);
 * @endcode
 */
#ifndef HALFTONE_DISTANCE_H
#define HALFTONE_DISTANCE_H

#include "halftone/loss.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Divides by the p-norm along a dimension: input / max(norm, epsilon).
 *
 * @param[in] input at least one dimension, float; borrowed.
 * @param[in] p of the norm, as for htone_vector_norm.
 * @param[in] dim the dimension, negative from the end.
 * @param[in] epsilon the least divisor, at least 0, finite.
 * @param[out] out shape and dtype of input (f32 under autocast); owned by the caller.
 * @autocast FP32; 16-bit input is read as it is and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision norms in double, the quotient in FP32 (f64: double); one rounding to 16 bits.
 * @source torch.nn.functional.normalize.
 * @since 0.1
 */
HTONE_API htone_status htone_normalize(htone_tensor* input, double p, int64_t dim, double epsilon, htone_tensor** out);

/** Returns the cosine of the angle between vectors: the sum along a dimension of a / max(|a|, epsilon) times b /
 * max(|b|, epsilon).
 *
 * @param[in] a float; borrowed.
 * @param[in] b float; its shape broadcasts with that of a; borrowed.
 * @param[in] dim the dimension of the broadcast shape, negative from the end.
 * @param[in] epsilon the least length, at least 0, finite. A shorter vector gets the gradient of its own length.
 * @param[out] out the broadcast shape without dim, promoted dtype (f32 under autocast); owned by the caller.
 * @autocast FP32; 16-bit operands are read as they are and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision lengths in double, the rest in FP32 (f64: double); one rounding to 16 bits.
 * @source torch.nn.functional.cosine_similarity.
 * @since 0.1
 */
HTONE_API htone_status htone_cosine_similarity(htone_tensor* a, htone_tensor* b, int64_t dim, double epsilon,
                                               htone_tensor** out);

/** Returns the p-norm of a - b + epsilon along the last dimension.
 *
 * @param[in] a at least one dimension, float; borrowed.
 * @param[in] b float; its shape broadcasts with that of a; borrowed.
 * @param[in] p of the norm, as for htone_vector_norm.
 * @param[in] epsilon finite; added to each difference, so that a norm of 0 is rare; it has no gradient.
 * @param[in] keepdim not 0 keeps the last dimension with size 1.
 * @param[out] out the broadcast shape without its last dimension, promoted dtype (f32 under autocast); owned by the
 *   caller.
 * @autocast FP32; 16-bit operands are read as they are and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision differences in FP32 (f64: double), norms in double; one rounding to 16 bits.
 * @source torch.nn.functional.pairwise_distance.
 * @since 0.1
 */
HTONE_API htone_status htone_pairwise_distance(htone_tensor* a, htone_tensor* b, double p, double epsilon,
                                               int32_t keepdim, htone_tensor** out);

/** Returns the distances of all pairs: out[..., i, j] is the p-norm of a[..., i, :] - b[..., j, :]. Only the
 * differences of about 2^20 elements exist at a time; backward computes them again.
 *
 * @param[in] a [..., n, d], float; borrowed.
 * @param[in] b [..., m, d], float; its leading dimensions broadcast with those of a; borrowed.
 * @param[in] p at least 0, or infinity. For 0 the distance is the number of elements that differ, without a gradient.
 * @param[out] out [..., n, m], promoted dtype (f32 under autocast); owned by the caller. The gradient of equal elements
 *   is 0, also where the distance is 0; for infinity each of equal magnitudes has the gradient.
 * @autocast FP32; 16-bit operands are read as they are and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision differences in FP32 (f64: double), norms in double; one rounding to 16 bits. No product of matrices is
 *   used: small distances would lose their digits.
 * @source torch.cdist.
 * @since 0.1
 */
HTONE_API htone_status htone_cdist(htone_tensor* a, htone_tensor* b, double p, htone_tensor** out);

/** Returns max(0, margin - target (input1 - input2)): a target of 1 asks for a larger input1, one of -1 for a larger
 * input2.
 *
 * @param[in] input1 any shape, float; borrowed.
 * @param[in] input2 shape of input1, float; borrowed.
 * @param[in] target shape of input1, a float or an integer: 1 or -1; borrowed.
 * @param[in] margin finite.
 * @param[in] reduction MEAN, SUM or NONE.
 * @param[out] out an f32 scalar (f64 for f64), or for NONE shape of input1 in the promoted dtype of all floats (f32
 *   under autocast); owned by the caller.
 * @autocast FP32; 16-bit operands are read as they are and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision FP32 (f64: double), summed pairwise, one rounding to 16 bits.
 * @source torch.nn.functional.margin_ranking_loss.
 * @since 0.1
 */
HTONE_API htone_status htone_margin_ranking_loss(htone_tensor* input1, htone_tensor* input2, htone_tensor* target,
                                                 double margin, htone_reduction reduction, htone_tensor** out);

/** Returns for the cosine c of each pair of rows 1 - c where the target is 1, max(0, c - margin) where it is -1, else
 * 0. Here c is x . y / sqrt((x . x + e) (y . y + e)) with e = 1e-12.
 *
 * @param[in] input1 [n, d] or [d], float; borrowed.
 * @param[in] input2 shape of input1, float; borrowed.
 * @param[in] target [n], or a scalar for [d]; a float or an integer: 1 or -1; borrowed.
 * @param[in] margin finite, usually in [0, 0.5].
 * @param[in] reduction MEAN, SUM or NONE.
 * @param[out] out an f32 scalar (f64 for f64), or for NONE shape of target in the promoted dtype of the inputs (f32
 *   under autocast); owned by the caller.
 * @autocast FP32; 16-bit operands are read as they are and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision FP32 (f64: double), summed pairwise, one rounding to 16 bits.
 * @source torch.nn.functional.cosine_embedding_loss.
 * @since 0.1
 */
HTONE_API htone_status htone_cosine_embedding_loss(htone_tensor* input1, htone_tensor* input2, htone_tensor* target,
                                                   double margin, htone_reduction reduction, htone_tensor** out);

/** Returns max(0, d(anchor, positive) - d(anchor, negative) + margin) for each row, with the distance d of
 * htone_pairwise_distance.
 *
 * @param[in] anchor [n, d] or [d], float; borrowed.
 * @param[in] positive shape of anchor, float; borrowed.
 * @param[in] negative shape of anchor, float; borrowed.
 * @param[in] margin finite.
 * @param[in] p of the norm, as for htone_vector_norm; 2 is usual.
 * @param[in] epsilon finite; added to each difference; 1e-6 is usual.
 * @param[in] swap not 0 uses the smaller of d(anchor, negative) and d(positive, negative).
 * @param[in] reduction MEAN, SUM or NONE.
 * @param[out] out an f32 scalar (f64 for f64), or for NONE [n] or a scalar in the promoted dtype (f32 under autocast);
 *   owned by the caller.
 * @autocast FP32; 16-bit operands are read as they are and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision norms in double, the rest in FP32 (f64: double), summed pairwise, one rounding to 16 bits.
 * @source Balntas et al., BMVC 2016, for swap; torch.nn.functional.triplet_margin_loss.
 * @since 0.1
 */
HTONE_API htone_status htone_triplet_margin_loss(htone_tensor* anchor, htone_tensor* positive, htone_tensor* negative,
                                                 double margin, double p, double epsilon, int32_t swap,
                                                 htone_reduction reduction, htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
