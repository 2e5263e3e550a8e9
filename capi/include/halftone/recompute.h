/** @file
 * Recomputation (activation checkpointing): training with less memory for more time. A module that is marked keeps for
 * backward only the inputs of its forward. Backward runs the forward a second time to make the rest again, just before
 * it needs it. Losses and gradients are bitwise the same as without. For a transformer, mark its blocks (kind
 * "transformer_block"), every second of them, or parts of them (kind "multihead_attention" or "feed_forward").
 *
 * The second forward repeats the first one: it draws the same random numbers, with the autocast policy and the modes of
 * the first, and the running statistics of batch norms change once. Between forward and backward, inputs and parameters
 * must not be written, nor parameters frozen. A module of the caller's (custom.h) and a hook must compute the same
 * twice, from their inputs; backward is STATE if they save other tensors the second time.
 *
 * - Hooks of the modules inside a marked module run in both forwards; those of the marked module itself run in the
 *   first alone. A callback learns from htone_is_recomputing which forward runs.
 * - Inside a marked module the marks of other modules have no effect: the outermost one decides.
 * - A marked module is kept until its backward has run, or its results are released.
 * - Where neither a custom module nor a hook is inside, the second forward ends with the last tensor that backward
 *   needs.
 * - With retain_graph, each backward runs the forward again.
 * - A backward inside the forward of a marked module, through what that forward computes, is STATE.
 * - Marks are part of copies of a module (module_copy.h), and of no checkpoint or state dict.
 *
 * @code
 * htone_module* gpt;
 * size_t blocks;
 * int32_t marked;
 * htone_transformer_options options = HTONE_TRANSFORMER_OPTIONS_INIT;
 * options.vocabulary = options.positions = 8;
 * options.width = options.heads = options.layers = 4;
 * check(htone_module_create_transformer(device, &options, &gpt));
 * check(htone_module_set_recompute_matching(gpt, NULL, "transformer_block", 2, &blocks)); // h.0 and h.2
 * assert(blocks == 2);
 * check(htone_module_recomputes(gpt, &marked)); // its blocks alone
 * assert(!marked);
 * @endcode
 */
#ifndef HALFTONE_RECOMPUTE_H
#define HALFTONE_RECOMPUTE_H

#include "halftone/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Marks a module for recomputation, or removes its mark. It concerns forwards that begin from then on and that record.
 *
 * @param[in] module borrowed; no other thread runs it meanwhile.
 * @param[in] recompute nonzero to mark the module.
 * @errors INVALID_HANDLE.
 * @source Chen et al., arXiv:1604.06174.
 * @since 0.1
 */
HTONE_API htone_status htone_module_set_recompute(htone_module* module, int32_t recompute);

/** Returns whether a module is marked for recomputation.
 *
 * @param[in] module borrowed.
 * @param[out] out_recompute 1 if it is marked, else 0; the marks of the modules in it and around it do not count.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_module_recomputes(htone_module* module, int32_t* out_recompute);

/** Marks modules for recomputation by path and kind: of the module itself and all modules in it at any depth, those
 * that fit both. The marks of the others stay as they are, so that several calls add up. A module that is held several
 * times has its first path.
 *
 * @param[in] module borrowed; no other thread runs it meanwhile.
 * @param[in] path optional; a pattern for the whole path within module: '*' matches any number of characters, dots too,
 *   and '?' one. The path of module itself is "". NULL: any.
 * @param[in] kind optional; as htone_module_kind writes it: "transformer_block". NULL: any.
 * @param[in] every 1 marks all that fit; n marks the first that fits and each n-th from there on, in the order of
 *   paths; 0 removes the marks of all that fit.
 * @param[out] out_count the number of modules that were marked, or whose mark was removed.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also: every is negative, or more than 262144 modules, each counted once per
 *   path), OUT_OF_MEMORY.
 * @source Chen et al., arXiv:1604.06174; for parts of blocks Korthikanti et al., arXiv:2205.05198.
 * @since 0.1
 */
HTONE_API htone_status htone_module_set_recompute_matching(htone_module* module, const char* path, const char* kind,
                                                           int64_t every, size_t* out_count);

/** Returns whether a backward of this thread runs a forward again now. For hooks and custom modules that count or write
 * something, which must happen once.
 *
 * @param[out] out_recomputing 1 in the second forward of a marked module, else 0.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_is_recomputing(int32_t* out_recomputing);

#ifdef __cplusplus
}
#endif

#endif
