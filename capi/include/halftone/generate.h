/** @file
 * Text from language models: tokens that a model continues, by the most likely token or by drawing.
 *
 * @code
 * const int64_t tokens[] = {7, 1, 3}, shape[] = {1, 3};
 * htone_module* gpt;
 * htone_tensor *prompt, *text;
 * htone_transformer_options options = HTONE_TRANSFORMER_OPTIONS_INIT;
 * htone_generate_options drawing = HTONE_GENERATE_OPTIONS_INIT;
 * options.vocabulary = options.positions = 8;
 * options.width = options.heads = options.layers = 2;
 * drawing.new_tokens = 5;
 * drawing.top_k = 4;
 * check(htone_module_create_transformer(device, &options, &gpt));
 * check(htone_tensor_create_copy(device, HTONE_I64, 2, shape, tokens, &prompt));
 * check(htone_module_generate(gpt, prompt, &drawing, &text)); // [1, 8]
 * check(htone_tensor_numel(text, &count));
 * assert(count == 8);
 * @endcode
 */
#ifndef HALFTONE_GENERATE_H
#define HALFTONE_GENERATE_H

#include "halftone/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Settings of htone_module_generate. */
typedef struct htone_generate_options {
  uint32_t struct_size; /**< sizeof of this structure */
  uint32_t reserved;    /**< 0 */
  int64_t new_tokens;   /**< tokens to add to each row, not negative; default 16 */
  int64_t context;      /**< the model sees at most so many of the last tokens; default 0: all. At most its positions */
  int64_t end_token;    /**< a row that draws it is complete and repeats it; default -1: none */
  int64_t top_k;        /**< only the most likely so many tokens are drawn; default 0: all */
  double top_p;         /**< only the fewest tokens are drawn whose probabilities add up to it; in (0, 1]; default 1 */
  double temperature;   /**< divisor of the logits, not negative; default 1; 0: always the most likely token */
  uint64_t seed;        /**< of the numbers drawn; default 0 */
  htone_tensor* mask;   /**< optional; [batch, time], bool or u8: 0 where a token is padding before a shorter prompt;
                             borrowed; default NULL: no padding */
} htone_generate_options;

/** The defaults, to initialize a htone_generate_options where it is declared. */
#define HTONE_GENERATE_OPTIONS_INIT \
  { sizeof(htone_generate_options), 0, 16, 0, -1, 0, 1.0, 1.0, 0, NULL }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_generate_options_init(htone_generate_options* options);

/** Continues tokens by those that a language model predicts, one after another, and records nothing. A causal
 * htone_module_create_transformer runs each token once, with a cache (cache.h), so its hooks see the new tokens alone;
 * it runs all tokens of the context again for each new one when there are more than the context and the window slides,
 * since then every token has another position, and while dropout acts in training mode. Other modules always do. The
 * logits of the last position are cut to top_k, then to top_p. Row r draws from the numbers (seed, r), so equal logits
 * give equal tokens on every machine. The module runs in the mode that it has: set it to evaluation mode before
 * (htone_module_set_training). A htone_module_create_transformer continues prompts of different lengths in one batch,
 * with padding of any token before the shorter ones and options.mask: padding is hidden and has no learned or rotary
 * position, so each row is continued as its prompt alone, but for the rounding of logits and the numbers of its row.
 * While rows with their padding are longer than learned positions, the model runs all tokens for each new one.
 *
 * @param[in] module tokens [batch, time] to logits [batch, time, vocabulary], such as a
 *   htone_module_create_transformer; borrowed.
 * @param[in] tokens [batch, time], i64 or i32, at least one a row; borrowed.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out [batch, time + new_tokens], i64: tokens and their continuation; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also: a mask that hides a whole row, or a token behind one that it shows),
 *   UNSUPPORTED (options of a newer version; a mask for padding and another module than a transformer), SHAPE_MISMATCH
 *   (also: another output of the module, or more tokens than it has positions), DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY;
 *   CALLBACK (a hook or a module of the caller failed).
 * @source top_p: Holtzman et al., arXiv:1904.09751.
 * @since 0.1
 */
HTONE_API htone_status htone_module_generate(htone_module* module, htone_tensor* tokens,
                                             const htone_generate_options* options, htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
