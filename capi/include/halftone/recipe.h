/** @file
 * Low-precision recipes: linear layers under autocast that multiply codes of 8 or 4 bits with scales, in forward and in
 * both products of backward. All sums are in FP32; results, gradients and all other operations keep the dtype of the
 * policy. Any device computes every recipe, from the same codes: a GPU in 8 or 4 bits where it can, else from operands
 * that are widened to BF16, which holds the codes with their scales exactly.
 *
 * A recipe applies to htone_linear, htone_linear_activation and htone_activation_linear, and so to modules that use
 * them: linear layers, the projections of attention, feed-forward layers and the head of a transformer. It needs a
 * policy that casts these operations (HTONE_AUTOCAST_LOW). f64 operands are left alone, as autocast leaves them.
 *
 * - Each product reads codes along the dimension that it sums over: an input is coded along its features for forward
 *   and along its rows for the weight's gradient. Layouts of whole tensors and of squares are coded once.
 * - Backward keeps the codes of the input, not the input. Of relu it keeps one bit for each element. Of other
 *   activations it keeps the argument, as without a recipe; so does activation_linear.
 * - Codes of a parameter's weights are made from its copy in the policy's dtype, once after each update, and kept. They
 *   are not kept of frozen parameters and of those that ranks share (fsdp.h).
 * - A product of codes takes up to 24 KiB more of the caller's stack than one without a recipe: with modules nested 64
 *   deep, give the thread 96 KiB.
 *
 * @code
 * htone_autocast_policy* policy;
 * htone_recipe* recipe;
 * size_t fitting;
 * check(htone_recipe_create(HTONE_RECIPE_MXFP8, NULL, &recipe));
 * check(htone_autocast_policy_create(HTONE_BF16, &policy));
 * check(htone_autocast_policy_set_recipe(policy, recipe));
 * check(htone_module_forward(model, x, policy, &y)); // linear layers multiply in MXFP8
 * check(htone_module_set_recipe_matching(model, "", "linear", NULL, &fitting)); // this one in BF16 from now on
 * assert(fitting == 1);
 * @endcode
 */
#ifndef HALFTONE_RECIPE_H
#define HALFTONE_RECIPE_H

#include "halftone/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A choice of codes and scales. It does not change; any thread may use it. */
typedef struct htone_recipe htone_recipe;

/** The kinds of recipes. scaled.h describes the layouts of scales. */
typedef enum htone_recipe_kind {
  /** 8-bit floats with one FP32 scale for each tensor, from the tensor itself. arXiv:2209.05433; Float8CurrentScaling
   * of Transformer Engine.
   */
  HTONE_RECIPE_CURRENT = 1,
  /** As CURRENT, but inputs and gradients have scales from their largest magnitudes in earlier steps, so that each is
   * read once; weights have their own, since they are coded once after an update. A number beyond the range saturates.
   * The largest magnitudes are buffers of each linear layer, "amax_history" and "amax_scale", which are in state dicts
   * and checkpoints: give the layers the recipe with htone_module_set_recipe_matching before the model is loaded or
   * trained, and it keeps them as long as it is one of DELAYED with the same history_length. They move on in training
   * mode alone, by each forward that is recorded and its backward. A recomputed forward must have its backward before
   * the layer runs again. Products outside of linear layers, such as a tied head, are as under CURRENT.
   * arXiv:2209.05433; DelayedScaling of Transformer Engine.
   */
  HTONE_RECIPE_DELAYED = 2,
  /** 8-bit floats with FP32 scales that are powers of two: of blocks of 1 x 128 in inputs and gradients, of 128 x 128
   * in weights. arXiv:2412.19437; Float8BlockScaling of Transformer Engine.
   */
  HTONE_RECIPE_BLOCK = 3,
  /** 8-bit floats with an E8M0 scale for each 32 elements. OCP Microscaling Formats 1.0; arXiv:2310.10537. */
  HTONE_RECIPE_MXFP8 = 4,
  /** 4-bit floats with an E4M3 scale for each 16 elements, or for 16 x 16 in weights, and one FP32 scale for each
   * tensor. arXiv:2509.25149.
   */
  HTONE_RECIPE_NVFP4 = 5,
  HTONE_RECIPE_KIND_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_recipe_kind;

/** The 8-bit floats of a recipe. Inputs and weights are f8e4m3. */
typedef enum htone_recipe_format {
  /** HYBRID for CURRENT and DELAYED; E4M3 for BLOCK and MXFP8, whose scales are of small blocks */
  HTONE_RECIPE_FORMAT_AUTO = 1,
  HTONE_RECIPE_FORMAT_E4M3 = 2,             /**< gradients are f8e4m3, too */
  HTONE_RECIPE_FORMAT_HYBRID = 3,           /**< gradients are f8e5m2, which reaches further with a digit less */
  HTONE_RECIPE_FORMAT_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_recipe_format;

/** Settings of htone_recipe_create. The kinds that read one are in brackets; others ignore it. */
typedef struct htone_recipe_options {
  uint32_t struct_size;       /**< sizeof of this structure */
  htone_recipe_format format; /**< [CURRENT, DELAYED, BLOCK, MXFP8] of codes; default AUTO */
  /** [MXFP8] not 0, the default: scales are rounded up, so that no code saturates, as in Transformer Engine
   * (arXiv:2506.08027); 0: the rule of OCP, which rounds down.
   */
  int32_t scale_rounds_up;
  /** [NVFP4] not 0, the default: one scale for each 16 x 16 weights, so that forward and backward read the same values;
   * 0: one for each 16 along the dimension that a product sums over.
   */
  int32_t square_weight_scales;
  /** [NVFP4] not 0, the default: codes of gradients are rounded up or down by chance, so that their mean is the
   * gradient; 0: to nearest.
   */
  int32_t stochastic_gradients;
  /** [NVFP4] not 0, the default: the factors of a weight's gradient are multiplied by a random Hadamard matrix of 16 x
   * 16 along the rows before they are coded, which spreads outliers and leaves the product as it is; 0: they are not.
   */
  int32_t random_hadamard;
  int32_t margin; /**< [DELAYED] scales are multiplied by 2^margin; default 0; -64 to 64 */
  /** [DELAYED] not 0: the scale comes from the magnitude of the last step; default 0: from the largest of the history
   */
  int32_t most_recent;
  int64_t history_length; /**< [DELAYED] steps that count; default 1024; 1 to 2^20 */
} htone_recipe_options;

/** The defaults, to initialize an htone_recipe_options where it is declared. */
#define HTONE_RECIPE_OPTIONS_INIT \
  { sizeof(htone_recipe_options), HTONE_RECIPE_FORMAT_AUTO, 1, 1, 1, 1, 0, 0, 1024 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_recipe_options_init(htone_recipe_options* options);

/** Makes a recipe.
 *
 * @param[in] kind one of HTONE_RECIPE_...
 * @param[in] options optional; settings.
 * @param[out] out the recipe; owned by the caller.
 * @errors INVALID_ARGUMENT, UNSUPPORTED (options of a newer version), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_recipe_create(htone_recipe_kind kind, const htone_recipe_options* options,
                                           htone_recipe** out);

/** Adds a reference.
 *
 * @param[in] recipe a recipe.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_recipe_retain(htone_recipe* recipe);

/** Releases a reference.
 *
 * @param[in] recipe optional; a recipe.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_recipe_release(htone_recipe* recipe);

/** Sets the recipe of a policy, which must not change while scopes use it.
 *
 * @param[in] policy borrowed; of bf16 or f16.
 * @param[in] recipe optional; retained. NULL: linear layers multiply in the policy's dtype.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (a recipe for a policy of f32, which casts nothing).
 * @since 0.1
 */
HTONE_API htone_status htone_autocast_policy_set_recipe(htone_autocast_policy* policy, htone_recipe* recipe);

/** Gives modules a recipe of their own by path and kind, or leaves them out: the module itself and all modules in it at
 * any depth that fit both. Where autocast casts linear layers, it holds in such a module and in the modules inside,
 * unless one of those has its own, in place of that of the policy. It is part of copies of a module (module_copy.h),
 * and of no checkpoint or state dict. A module that is held several times has its first path.
 *
 * @param[in] module borrowed; no other thread runs it meanwhile.
 * @param[in] path optional; a pattern for the whole path within module: '*' matches any number of characters, dots too,
 *   and '?' one. The path of module itself is "". NULL: any.
 * @param[in] kind optional; as htone_module_kind writes it: "linear". NULL: any.
 * @param[in] recipe optional; retained. NULL: the modules multiply in the policy's dtype.
 * @param[out] out_count the number of modules that fit.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also: more than 262144 modules, each counted once per path), STATE (a
 *   module runs on this thread), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_set_recipe_matching(htone_module* module, const char* path, const char* kind,
                                                        htone_recipe* recipe, size_t* out_count);

/** Sets modules back to the recipe of the modules around them, else of the policy: those that fit, as for
 * htone_module_set_recipe_matching.
 *
 * @param[in] module borrowed; no other thread runs it meanwhile.
 * @param[in] path optional; a pattern for the whole path within module. NULL: any.
 * @param[in] kind optional; as htone_module_kind writes it. NULL: any.
 * @param[out] out_count the number of modules that fit.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also: more than 262144 modules, each counted once per path), STATE (a
 *   module runs on this thread), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_clear_recipe_matching(htone_module* module, const char* path, const char* kind,
                                                          size_t* out_count);

#ifdef __cplusplus
}
#endif

#endif
