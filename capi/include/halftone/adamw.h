/** @file
 * AdamW: Adam with decoupled weight decay.
 *
 * @code
 * htone_adamw_options options = HTONE_ADAMW_OPTIONS_INIT;
 * htone_parameters *all, *biases, *others;
 * check(htone_parameters_create_from_module(model, &all));
 * check(htone_parameters_select(all, "*bias", &biases));
 * check(htone_parameters_exclude(all, "*bias", &others));
 * options.compute_dtype = HTONE_BF16; // autocast reads a BF16 copy of the weights
 * check(htone_optimizer_create_adamw_over(biases, &options, &optimizer)); // with FP32 moments
 * options.moment1_dtype = HTONE_I8;
 * options.moment2_dtype = HTONE_U8;
 * check(htone_optimizer_add_adamw_group(optimizer, others, &options)); // with 8-bit moments
 * check(htone_tensor_backward(loss, NULL, 0));
 * check(htone_optimizer_step(optimizer));
 * check(htone_optimizer_step_count(optimizer, &count));
 * assert(count == 1);
 * @endcode
 */
#ifndef HALFTONE_ADAMW_H
#define HALFTONE_ADAMW_H

#include "halftone/nn.h"
#include "halftone/optim.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Settings of AdamW and Adam optimizers. Moments in 8-bit codes have an FP32 scale for each block of 256 elements, and
 * an element that is not finite makes its block NaN. Moments in 8-bit codes, BF16 first moments if beta1 is above 0.9,
 * and weights without a master are rounded stochastically, keyed by the context's seed, the parameter's number in the
 * optimizer, the step and the element; BF16 first moments up to a beta1 of 0.9 are rounded to nearest.
 *
 * Codes are finest near the block's largest magnitude. They reach down to 7e-7 of it, and roots of second moments to
 * 1e-6. A first moment's code is at most a 16th above the one below it; below a quarter of the largest an eighth, below
 * 8e-3 a quarter. A root of a second moment is at most a 64th above the one below it; below half of the largest a 16th,
 * below 7e-4 a quarter. A first moment below a quarter of the least code becomes 0. Weights whose gradients are 1e-2 to
 * 1e-6 of the block's largest move as far as with FP32 moments to within 2 % in the mean, with a deviation of at most
 * 8 %. Where all gradients of a block are of one size, ways differ by 6 %. docs/pytorch.md has the table. One huge
 * gradient sets the scale of its block until its moments have decayed, also where it is bounded to 2^62.
 *
 * A parameter with fewer than min_8bit_size elements, such as a bias or the weight of a norm, keeps FP32 moments where
 * the options ask for codes. The size is that of the whole parameter, also where ranks share it. Larger parameters that
 * need FP32 moments, such as embeddings, have a group of their own, as in the example above.
 */
typedef struct htone_adamw_options {
  uint32_t struct_size;      /**< sizeof of this structure */
  htone_dtype compute_dtype; /**< dtype of the copy for autocast: HTONE_F32 (default, no copy), HTONE_BF16, HTONE_F16 */
  double lr;                 /**< default 1e-3; finite in FP32, at least 0 */
  double beta1;              /**< default 0.9; in [0, 1) */
  double beta2;              /**< default 0.999; in [0, 1) */
  double epsilon;            /**< default 1e-8; above 0 in FP32 */
  double weight_decay;       /**< decoupled; default 0.01; finite in FP32, at least 0 */
  htone_dtype grad_dtype;    /**< dtype of stored gradients: HTONE_F32 (default) or compute_dtype */
  htone_dtype
      moment1_dtype; /**< dtype of the first moment: HTONE_F32 (default), HTONE_BF16, or HTONE_I8 for 8-bit codes */
  htone_master_storage master_storage; /**< default HTONE_MASTER_FULL */
  htone_dtype moment2_dtype; /**< dtype of the second moment: HTONE_F32 (default), or HTONE_U8 for 8-bit codes */
  int64_t min_8bit_size; /**< a parameter with fewer elements keeps FP32 moments in place of 8-bit codes; default 4096;
                              at least 0 */
} htone_adamw_options;

/** The defaults, to initialize an htone_adamw_options where it is declared. */
#define HTONE_ADAMW_OPTIONS_INIT                                                                                   \
  {                                                                                                                \
    sizeof(htone_adamw_options), HTONE_F32, 1e-3, 0.9, 0.999, 1e-8, 0.01, HTONE_F32, HTONE_F32, HTONE_MASTER_FULL, \
        HTONE_F32, 4096                                                                                            \
  }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_adamw_options_init(htone_adamw_options* options);

/** Makes an AdamW optimizer over a module's parameters except the frozen ones, in one group. All of its state is
 * allocated.
 *
 * @param[in] module with parameters in f32, or for HTONE_MASTER_NONE in compute_dtype. They are retained, and belong
 *   to one optimizer at a time.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out the optimizer, before step 0; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, STATE (no parameters, or one has an optimizer),
 *   UNSUPPORTED, OUT_OF_MEMORY.
 * @precision FP32.
 * @source Loshchilov and Hutter, arXiv:1711.05101; formulas and defaults of torch.optim.AdamW.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_create_adamw(htone_module* module, const htone_adamw_options* options,
                                                    htone_optimizer** out);

/** Makes an AdamW optimizer over a set of parameters, in one group. All of its state is allocated.
 *
 * @param[in] parameters in f32, or for HTONE_MASTER_NONE in compute_dtype; retained, none of them frozen. The set may
 *   change afterwards.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out the optimizer, before step 0; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, STATE (no parameters; one is frozen or has an optimizer),
 *   DEVICE (they are on several), UNSUPPORTED, OUT_OF_MEMORY.
 * @precision FP32.
 * @source Loshchilov and Hutter, arXiv:1711.05101; formulas and defaults of torch.optim.AdamW.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_create_adamw_over(htone_parameters* parameters,
                                                         const htone_adamw_options* options, htone_optimizer** out);

/** Adds a group of parameters with its own settings and storage, before the first step or later; its moments begin
 * then. Nothing changes if it fails.
 *
 * @param[in] optimizer an AdamW optimizer; borrowed.
 * @param[in] parameters as for htone_optimizer_create_adamw_over.
 * @param[in] options optional; NULL means the defaults, not the first group's.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (it is another kind of optimizer), DTYPE_MISMATCH, STATE (no parameters;
 *   one is frozen, or in another group or optimizer; htone_grad_scaler_unscale ran and no step since), DEVICE,
 *   UNSUPPORTED, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_add_adamw_group(htone_optimizer* optimizer, htone_parameters* parameters,
                                                       const htone_adamw_options* options);

/** Reads the settings of a group as they are now; lr is the group's own, which the schedule multiplies.
 *
 * @param[in] optimizer an AdamW optimizer; borrowed.
 * @param[in] index of the group, in the order of adding; below the group count.
 * @param[in,out] out_options struct_size set by the caller, as htone_adamw_options_init does; the other fields are
 *   written.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (it is another kind of optimizer; no such group).
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_adamw_group(htone_optimizer* optimizer, size_t index,
                                                   htone_adamw_options* out_options);

/** Changes the settings of a group, which hold from the next step on. A checkpoint saves them.
 *
 * @param[in] optimizer an AdamW optimizer; borrowed.
 * @param[in] index of the group, in the order of adding; below the group count.
 * @param[in] options all settings, such as htone_optimizer_adamw_group with some of them changed. The dtypes,
 *   master_storage and min_8bit_size must be the group's, since its storage stays. Fields behind struct_size stay as
 *   they are.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (another kind of optimizer; no such group; other storage), UNSUPPORTED.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_set_adamw_group(htone_optimizer* optimizer, size_t index,
                                                       const htone_adamw_options* options);

#ifdef __cplusplus
}
#endif

#endif
