/** @file
 * Lion: every element moves by the learning rate in the direction of a moment. Use learning rates three to ten times
 * below AdamW's, and weight decays three to ten times above. A moment in 8-bit codes is always rounded stochastically,
 * one in BF16 only if beta2 is above 0.9, so both follow FP32 in the mean.
 *
 * @code
 * htone_lion_options options = HTONE_LION_OPTIONS_INIT;
 * options.lr = 3e-5;
 * check(htone_optimizer_create_lion(model, &options, &optimizer));
 * check(htone_tensor_backward(loss, NULL, 0));
 * check(htone_optimizer_step(optimizer));
 * check(htone_optimizer_step_count(optimizer, &count));
 * assert(count == 1);
 * @endcode
 */
#ifndef HALFTONE_LION_H
#define HALFTONE_LION_H

#include "halftone/nn.h"
#include "halftone/optim.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Settings of Lion optimizers. */
typedef struct htone_lion_options {
  uint32_t struct_size;                /**< sizeof of this structure */
  htone_dtype compute_dtype;           /**< as in htone_adamw_options */
  double lr;                           /**< default 1e-4; finite in FP32, at least 0 */
  double beta1;                        /**< decay of the direction; default 0.9; in [0, 1) */
  double beta2;                        /**< decay of the moment; default 0.99; in [0, 1) */
  double weight_decay;                 /**< decoupled; default 0; finite in FP32, at least 0 */
  htone_dtype grad_dtype;              /**< as in htone_adamw_options */
  htone_dtype moment1_dtype;           /**< as in htone_adamw_options */
  htone_master_storage master_storage; /**< as in htone_adamw_options */
  uint32_t reserved;                   /**< 0 */
  int64_t min_8bit_size;               /**< as in htone_adamw_options */
} htone_lion_options;

/** The defaults, to initialize a htone_lion_options where it is declared. */
#define HTONE_LION_OPTIONS_INIT \
  { sizeof(htone_lion_options), HTONE_F32, 1e-4, 0.9, 0.99, 0.0, HTONE_F32, HTONE_F32, HTONE_MASTER_FULL, 0, 4096 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_lion_options_init(htone_lion_options* options);

/** Makes a Lion optimizer over a module's parameters except the frozen ones, in one group. All of its state is
 * allocated.
 *
 * @param[in] module with parameters in f32, or for HTONE_MASTER_NONE in compute_dtype. They are retained, and belong
 *   to one optimizer at a time.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out the optimizer, before step 0; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, STATE (no parameters, or one has an optimizer),
 *   UNSUPPORTED, OUT_OF_MEMORY.
 * @precision FP32.
 * @source Chen et al., "Symbolic Discovery of Optimization Algorithms", arXiv:2302.06675.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_create_lion(htone_module* module, const htone_lion_options* options,
                                                   htone_optimizer** out);

/** Makes a Lion optimizer over a set of parameters, in one group. All of its state is allocated.
 *
 * @param[in] parameters in f32, or for HTONE_MASTER_NONE in compute_dtype; retained, none of them frozen. The set may
 *   change afterwards.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out the optimizer, before step 0; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, STATE (no parameters; one is frozen or has an optimizer),
 *   DEVICE (they are on several), UNSUPPORTED, OUT_OF_MEMORY.
 * @precision FP32.
 * @source Chen et al., "Symbolic Discovery of Optimization Algorithms", arXiv:2302.06675.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_create_lion_over(htone_parameters* parameters, const htone_lion_options* options,
                                                        htone_optimizer** out);

/** Adds a group of parameters with its own settings and storage, before the first step or later; its moments begin
 * then. Nothing changes if it fails.
 *
 * @param[in] optimizer a Lion optimizer; borrowed.
 * @param[in] parameters as for htone_optimizer_create_lion_over.
 * @param[in] options optional; NULL means the defaults, not the first group's.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (it is another kind of optimizer), DTYPE_MISMATCH, STATE (no parameters;
 *   one is frozen, or in another group or optimizer; htone_grad_scaler_unscale ran and no step since), DEVICE,
 *   UNSUPPORTED, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_add_lion_group(htone_optimizer* optimizer, htone_parameters* parameters,
                                                      const htone_lion_options* options);

/** Reads the settings of a group as they are now; lr is the group's own, which the schedule multiplies.
 *
 * @param[in] optimizer a Lion optimizer; borrowed.
 * @param[in] index of the group, in the order of adding; below the group count.
 * @param[in,out] out_options struct_size set by the caller, as htone_lion_options_init does; the other fields are
 *   written.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (it is another kind of optimizer; no such group).
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_lion_group(htone_optimizer* optimizer, size_t index,
                                                  htone_lion_options* out_options);

/** Changes the settings of a group, which hold from the next step on. A checkpoint saves them.
 *
 * @param[in] optimizer a Lion optimizer; borrowed.
 * @param[in] index of the group, in the order of adding; below the group count.
 * @param[in] options all settings, such as htone_optimizer_lion_group with some of them changed. The dtypes,
 *   master_storage and min_8bit_size must be the group's, since its storage stays. Fields behind struct_size stay as
 *   they are.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (another kind of optimizer; no such group; other storage), UNSUPPORTED.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_set_lion_group(htone_optimizer* optimizer, size_t index,
                                                      const htone_lion_options* options);

#ifdef __cplusplus
}
#endif

#endif
