/** @file
 * Scaled dot-product attention, and rotary position embedding.
 *
 * @code
 * const int64_t heads_first[] = {1, 2, 3}; // heads, positions, depth
 * htone_attention_options options = HTONE_ATTENTION_OPTIONS_INIT;
 * options.causal = 1;
 * check(htone_reshape(x, 3, heads_first, &y));
 * check(htone_scaled_dot_product_attention(y, y, y, NULL, &options, &y));
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(values[0] == 1 && values[2] == 3); // the first position sees itself alone
 * @endcode
 */
#ifndef HALFTONE_ATTENTION_H
#define HALFTONE_ATTENTION_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Settings of htone_scaled_dot_product_attention. */
typedef struct htone_attention_options {
  uint32_t struct_size;  /**< sizeof of this structure */
  int32_t causal;        /**< not 0: query i sees only the keys j <= i + causal_offset; default 0 */
  int64_t causal_offset; /**< the number of keys before the first query, any sign; default 0, as PyTorch's is_causal:
                              query i sees the keys 0 to i, also where there are more keys than queries. With a cache
                              of earlier keys, keys minus queries. Not 0 only where causal is not 0 */
  double scale;          /**< factor of the scores, finite; default 0, which means 1 / sqrt(depth) */
  double dropout;        /**< share of the weights that are dropped, in [0, 1); the others are multiplied by
                              1 / (1 - dropout); default 0, which a program sets outside of training */
} htone_attention_options;

/** The defaults, to initialize a htone_attention_options where it is declared. */
#define HTONE_ATTENTION_OPTIONS_INIT \
  { sizeof(htone_attention_options), 0, 0, 0.0, 0.0 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_attention_options_init(htone_attention_options* options);

/** Attends: each query gives the mean of the values, weighted by softmax(scale * query key + mask) over the keys. The
 * scores are never stored: forward and backward compute them block by block, in memory that grows with the number of
 * queries and of keys, not with their product. A query that sees no key gives 0 and gradients of 0. The value of a key
 * that is hidden still counts 0 times, so it must be finite.
 *
 * @param[in] q queries [..., heads, queries, depth], float, any strides: a transposed [..., queries, heads, depth] is
 *   read as it lies; borrowed.
 * @param[in] k keys [..., kv_heads, keys, depth], dtype of q; heads is a multiple of kv_heads, and head h of q reads
 *   head h / (heads / kv_heads) of k and v; borrowed. The dimensions before heads broadcast among q, k and v.
 * @param[in] v values [..., kv_heads, keys, value_depth], dtype of q; one head serves all of k; borrowed.
 * @param[in] mask optional; broadcasts to [..., heads, queries, keys]. A bool or u8 shows the keys where it is not 0; a
 *   float is added to the scores and gets a gradient in its dtype, summed over the dimensions in which it was
 *   repeated, if it requires one; backward then takes two more products; borrowed.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out [..., heads, queries, value_depth], dtype of q, with heads and queries in the order in memory that q
 *   has, so that merging heads that lie inside of queries needs no copy; owned by the caller.
 * @autocast low precision; a float mask is added as it is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (an option), UNSUPPORTED, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE,
 *   OUT_OF_MEMORY.
 * @precision products, exponentials and sums in FP32 (f64: double), one rounding; where q, k and v all are f16 or all
 *   bf16, a GPU may round the weights to that dtype, too, as may a CPU with instructions for bf16. Gradients likewise;
 *   they use the rounded result. The mask's gradient is summed in double. All are bitwise equal for every number of
 *   threads. Dropout is a function of the generator's state and the position of the weight, and is drawn again in
 *   backward.
 * @source Vaswani et al., arXiv:1706.03762; the blocks: Dao et al., arXiv:2205.14135 and arXiv:2307.08691.
 * @since 0.1
 */
HTONE_API htone_status htone_scaled_dot_product_attention(htone_tensor* q, htone_tensor* k, htone_tensor* v,
                                                          htone_tensor* mask, const htone_attention_options* options,
                                                          htone_tensor** out);

/** Settings of htone_rotary_embedding. */
typedef struct htone_rotary_options {
  uint32_t struct_size; /**< sizeof of this structure */
  int32_t interleaved;  /**< not 0: pair i is the elements 2 i and 2 i + 1; 0 (default): i and i + depth / 2, as in
                             GPT-NeoX and Llama */
  double base;          /**< positive and finite; default 10000 */
  int64_t offset;       /**< position of the first row where no positions are given; default 0 */
} htone_rotary_options;

/** The defaults, to initialize a htone_rotary_options where it is declared. */
#define HTONE_ROTARY_OPTIONS_INIT \
  { sizeof(htone_rotary_options), 0, 10000.0, 0 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_rotary_options_init(htone_rotary_options* options);

/** Rotates pairs of elements of queries or keys by angles that grow with the position of their row: pair i (a, b) of a
 * row at position p becomes (a cos t - b sin t, b cos t + a sin t) with t = p * base^(-2 i / depth). A score of two
 * rotated rows depends on the distance of their positions only.
 *
 * @param[in] input [..., rows, depth], float, any strides; depth is even; borrowed.
 * @param[in] positions optional; i64 or i32, broadcasts to [..., rows]; NULL means offset + row; borrowed.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out shape and dtype of input, with heads and rows in the order in memory that input has; owned by the
 *   caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (an option), UNSUPPORTED, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE,
 *   OUT_OF_MEMORY.
 * @precision angles in double; sines, cosines and products in FP32 (f64: double), one rounding.
 * @source Su et al., arXiv:2104.09864.
 * @since 0.1
 */
HTONE_API htone_status htone_rotary_embedding(htone_tensor* input, htone_tensor* positions,
                                              const htone_rotary_options* options, htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
