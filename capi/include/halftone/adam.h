/** @file
 * Adam: as AdamW, but the weight decay is added to the gradient. Its options have AdamW's fields and type; only the
 * default of weight_decay differs. Moments are stored and rounded as in htone_adamw_options.
 *
 * @code
 * htone_adamw_options options = HTONE_ADAM_OPTIONS_INIT;
 * options.lr = 1e-4;
 * check(htone_optimizer_create_adam(model, &options, &optimizer));
 * check(htone_tensor_backward(loss, NULL, 0));
 * check(htone_optimizer_step(optimizer));
 * check(htone_optimizer_step_count(optimizer, &count));
 * assert(count == 1);
 * @endcode
 */
#ifndef HALFTONE_ADAM_H
#define HALFTONE_ADAM_H

#include "halftone/adamw.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Adam's defaults, to initialize an htone_adamw_options where it is declared. */
#define HTONE_ADAM_OPTIONS_INIT                                                                                   \
  {                                                                                                               \
    sizeof(htone_adamw_options), HTONE_F32, 1e-3, 0.9, 0.999, 1e-8, 0.0, HTONE_F32, HTONE_F32, HTONE_MASTER_FULL, \
        HTONE_F32, 4096                                                                                           \
  }

/** Fills options with Adam's defaults: those of AdamW, but with a weight_decay of 0.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_adam_options_init(htone_adamw_options* options);

/** Makes an Adam optimizer over a module's parameters except the frozen ones, in one group. All of its state is
 * allocated.
 *
 * @param[in] module with parameters in f32, or for HTONE_MASTER_NONE in compute_dtype. They are retained, and belong
 *   to one optimizer at a time.
 * @param[in] options optional; NULL means Adam's defaults.
 * @param[out] out the optimizer, before step 0; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, STATE (no parameters, or one has an optimizer),
 *   UNSUPPORTED, OUT_OF_MEMORY.
 * @precision FP32.
 * @source Kingma and Ba, arXiv:1412.6980; formulas and defaults of torch.optim.Adam.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_create_adam(htone_module* module, const htone_adamw_options* options,
                                                   htone_optimizer** out);

/** Makes an Adam optimizer over a set of parameters, in one group. All of its state is allocated.
 *
 * @param[in] parameters in f32, or for HTONE_MASTER_NONE in compute_dtype; retained, none of them frozen. The set may
 *   change afterwards.
 * @param[in] options optional; NULL means Adam's defaults.
 * @param[out] out the optimizer, before step 0; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, STATE (no parameters; one is frozen or has an optimizer),
 *   DEVICE (they are on several), UNSUPPORTED, OUT_OF_MEMORY.
 * @precision FP32.
 * @source Kingma and Ba, arXiv:1412.6980; formulas and defaults of torch.optim.Adam.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_create_adam_over(htone_parameters* parameters,
                                                        const htone_adamw_options* options, htone_optimizer** out);

/** Adds a group of parameters with its own settings and storage, before the first step or later; its moments begin
 * then. Nothing changes if it fails.
 *
 * @param[in] optimizer an Adam optimizer; borrowed.
 * @param[in] parameters as for htone_optimizer_create_adam_over.
 * @param[in] options optional; NULL means Adam's defaults, not the first group's.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (it is another kind of optimizer), DTYPE_MISMATCH, STATE (no parameters;
 *   one is frozen, or in another group or optimizer; htone_grad_scaler_unscale ran and no step since), DEVICE,
 *   UNSUPPORTED, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_add_adam_group(htone_optimizer* optimizer, htone_parameters* parameters,
                                                      const htone_adamw_options* options);

/** Reads the settings of a group as they are now; lr is the group's own, which the schedule multiplies.
 *
 * @param[in] optimizer an Adam optimizer; borrowed.
 * @param[in] index of the group, in the order of adding; below the group count.
 * @param[in,out] out_options struct_size set by the caller, as htone_adam_options_init does; the other fields are
 *   written.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (it is another kind of optimizer; no such group).
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_adam_group(htone_optimizer* optimizer, size_t index,
                                                  htone_adamw_options* out_options);

/** Changes the settings of a group, which hold from the next step on. A checkpoint saves them.
 *
 * @param[in] optimizer an Adam optimizer; borrowed.
 * @param[in] index of the group, in the order of adding; below the group count.
 * @param[in] options all settings, such as htone_optimizer_adam_group with some of them changed. The dtypes,
 *   master_storage and min_8bit_size must be the group's, since its storage stays. Fields behind struct_size stay as
 *   they are.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (another kind of optimizer; no such group; other storage), UNSUPPORTED.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_set_adam_group(htone_optimizer* optimizer, size_t index,
                                                      const htone_adamw_options* options);

#ifdef __cplusplus
}
#endif

#endif
