/** @file
 * RMSprop: the gradient divided by the root of the running mean of its square.
 *
 * @code
 * htone_rmsprop_options options = HTONE_RMSPROP_OPTIONS_INIT;
 * options.momentum = 0.9;
 * check(htone_optimizer_create_rmsprop(model, &options, &optimizer));
 * check(htone_tensor_backward(loss, NULL, 0));
 * check(htone_optimizer_step(optimizer));
 * check(htone_optimizer_step_count(optimizer, &count));
 * assert(count == 1);
 * @endcode
 */
#ifndef HALFTONE_RMSPROP_H
#define HALFTONE_RMSPROP_H

#include "halftone/nn.h"
#include "halftone/optim.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Settings of RMSprop optimizers. A momentum buffer and a mean of gradients are first moments. In 8-bit codes they are
 * always rounded stochastically; in BF16 only if momentum (for the buffer) or alpha (for the mean) is above 0.9. If
 * centered is set, the second moment is the variance of the gradients, which PyTorch computes as a difference; here it
 * is never negative.
 */
typedef struct htone_rmsprop_options {
  uint32_t struct_size;      /**< sizeof of this structure */
  htone_dtype compute_dtype; /**< as in htone_adamw_options */
  double lr;                 /**< default 1e-2; finite in FP32, at least 0 */
  double alpha;              /**< decay of the running means; default 0.99; in [0, 1) */
  double epsilon;            /**< default 1e-8; above 0 in FP32 */
  double weight_decay;       /**< added to the gradient; default 0; finite in FP32, at least 0 */
  double momentum;           /**< default 0; in [0, 1) */
  int32_t centered;          /**< not 0: divides by the standard deviation of the gradient; default 0 */
  htone_dtype grad_dtype;    /**< as in htone_adamw_options */
  htone_dtype moment1_dtype; /**< of the momentum buffer and the mean of gradients, as in htone_adamw_options */
  htone_master_storage master_storage; /**< as in htone_adamw_options */
  htone_dtype moment2_dtype;           /**< as in htone_adamw_options */
  uint32_t reserved;                   /**< 0 */
  int64_t min_8bit_size;               /**< as in htone_adamw_options */
} htone_rmsprop_options;

/** The defaults, to initialize a htone_rmsprop_options where it is declared. */
#define HTONE_RMSPROP_OPTIONS_INIT                                                                                    \
  {                                                                                                                   \
    sizeof(htone_rmsprop_options), HTONE_F32, 1e-2, 0.99, 1e-8, 0.0, 0.0, 0, HTONE_F32, HTONE_F32, HTONE_MASTER_FULL, \
        HTONE_F32, 0, 4096                                                                                            \
  }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_rmsprop_options_init(htone_rmsprop_options* options);

/** Makes an RMSprop optimizer over a module's parameters except the frozen ones, in one group. All of its state is
 * allocated.
 *
 * @param[in] module with parameters in f32, or for HTONE_MASTER_NONE in compute_dtype. They are retained, and belong
 *   to one optimizer at a time.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out the optimizer, before step 0; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, STATE (no parameters, or one has an optimizer),
 *   UNSUPPORTED, OUT_OF_MEMORY.
 * @precision FP32.
 * @source formulas and defaults of torch.optim.RMSprop.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_create_rmsprop(htone_module* module, const htone_rmsprop_options* options,
                                                      htone_optimizer** out);

/** Makes an RMSprop optimizer over a set of parameters, in one group. All of its state is allocated.
 *
 * @param[in] parameters in f32, or for HTONE_MASTER_NONE in compute_dtype; retained, none of them frozen. The set may
 *   change afterwards.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out the optimizer, before step 0; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, STATE (no parameters; one is frozen or has an optimizer),
 *   DEVICE (they are on several), UNSUPPORTED, OUT_OF_MEMORY.
 * @precision FP32.
 * @source formulas and defaults of torch.optim.RMSprop.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_create_rmsprop_over(htone_parameters* parameters,
                                                           const htone_rmsprop_options* options, htone_optimizer** out);

/** Adds a group of parameters with its own settings and storage, before the first step or later; its moments begin
 * then. Nothing changes if it fails.
 *
 * @param[in] optimizer an RMSprop optimizer; borrowed.
 * @param[in] parameters as for htone_optimizer_create_rmsprop_over.
 * @param[in] options optional; NULL means the defaults, not the first group's.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (it is another kind of optimizer), DTYPE_MISMATCH, STATE (no parameters;
 *   one is frozen, or in another group or optimizer; htone_grad_scaler_unscale ran and no step since), DEVICE,
 *   UNSUPPORTED, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_add_rmsprop_group(htone_optimizer* optimizer, htone_parameters* parameters,
                                                         const htone_rmsprop_options* options);

/** Reads the settings of a group as they are now; lr is the group's own, which the schedule multiplies.
 *
 * @param[in] optimizer an RMSprop optimizer; borrowed.
 * @param[in] index of the group, in the order of adding; below the group count.
 * @param[in,out] out_options struct_size set by the caller, as htone_rmsprop_options_init does; the other fields are
 *   written.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (it is another kind of optimizer; no such group).
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_rmsprop_group(htone_optimizer* optimizer, size_t index,
                                                     htone_rmsprop_options* out_options);

/** Changes the settings of a group, which hold from the next step on. A checkpoint saves them.
 *
 * @param[in] optimizer an RMSprop optimizer; borrowed.
 * @param[in] index of the group, in the order of adding; below the group count.
 * @param[in] options all settings, such as htone_optimizer_rmsprop_group with some of them changed. The dtypes,
 *   master_storage and min_8bit_size must be the group's, since its storage stays. Fields behind struct_size stay as
 *   they are.
 *   momentum stays 0 or above 0, and centered as it is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (another kind of optimizer; no such group; other storage), UNSUPPORTED.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_set_rmsprop_group(htone_optimizer* optimizer, size_t index,
                                                         const htone_rmsprop_options* options);

#ifdef __cplusplus
}
#endif

#endif
