/** @file
 * Cached keys and values, for transformers that continue a text: each token runs through the model once, and later ones
 * attend to what is kept of it. htone_module_generate does so by itself. A program that draws tokens its own way makes
 * a cache with htone_transformer_cache and passes a view of it as the third input, which grows with the text.
 *
 * @code
 * const int64_t tokens[] = {7, 1, 3, 5}, shape[] = {1, 4};
 * htone_module* gpt;
 * htone_scope* no_grad;
 * htone_tensor *text, *cache, *inputs[3], *whole, *step;
 * htone_transformer_options options = HTONE_TRANSFORMER_OPTIONS_INIT;
 * options.vocabulary = options.positions = 8;
 * options.width = options.heads = options.layers = 2;
 * check(htone_module_create_transformer(device, &options, &gpt));
 * check(htone_tensor_create_copy(device, HTONE_I64, 2, shape, tokens, &text));
 * check(htone_transformer_cache(gpt, 1, 8, HTONE_F32, &cache)); // one row of 8 positions
 * check(htone_no_grad_begin(&no_grad));
 * inputs[1] = NULL; // no mask
 * check(htone_slice(text, 1, 0, 3, 1, &inputs[0]));
 * check(htone_slice(cache, 4, 0, 3, 1, &inputs[2]));
 * check(htone_module_forward_n(gpt, 3, inputs, NULL, 1, &step)); // the first three tokens together
 * check(htone_slice(text, 1, 3, 4, 1, &inputs[0]));
 * check(htone_slice(cache, 4, 0, 4, 1, &inputs[2]));
 * check(htone_module_forward_n(gpt, 3, inputs, NULL, 1, &step)); // then one: [1, 1, 8]
 * check(htone_module_forward(gpt, text, NULL, &whole));
 * check(htone_slice(whole, 1, 3, 4, 1, &whole)); // equal to rounding
 * check(htone_sub(step, whole, &step));
 * check(htone_tensor_read(step, HTONE_F32, values, 8 * sizeof *values));
 * assert(values[0] < 1e-5f && values[0] > -1e-5f);
 * check(htone_scope_end(no_grad));
 * @endcode
 */
#ifndef HALFTONE_CACHE_H
#define HALFTONE_CACHE_H

#include "halftone/transformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Makes an empty cache for a causal transformer: [layers, 2, batch, kv_heads, positions, depth], keys before values.
 * It is a tensor as any other. A forward reads it, or a view of its first positions (htone_slice along dimension 4), as
 * the third input: it writes keys and values of its tokens to the last positions of the view and attends to all of
 * them, so positions - time of them come from earlier calls. A shorter view later drops the last tokens again.
 *
 * @param[in] module of htone_module_create_transformer, causal; borrowed.
 * @param[in] batch number of rows, at least 1.
 * @param[in] positions most tokens of a row, at least 1; at most the positions of a model that learns them.
 * @param[in] dtype HTONE_F32, HTONE_F64, HTONE_F16 or HTONE_BF16. Keys and values are rounded to it. If it is not the
 *   dtype in which attention computes, each call converts the whole view: under autocast use the policy's dtype.
 * @param[out] out zeros; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also: another kind of module), UNSUPPORTED (a model that is not causal),
 *   OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_transformer_cache(htone_module* module, int64_t batch, int64_t positions,
                                               htone_dtype dtype, htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
