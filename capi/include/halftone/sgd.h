/** @file
 * SGD: gradient descent with momentum, dampening and Nesterov's form. A momentum buffer in 8-bit codes is always
 * rounded stochastically, one in BF16 only if momentum is above 0.9, so both decay as in FP32 in the mean.
 *
 * @code
 * htone_sgd_options options = HTONE_SGD_OPTIONS_INIT;
 * options.momentum = 0.9;
 * check(htone_optimizer_create_sgd(model, &options, &optimizer));
 * check(htone_tensor_backward(loss, NULL, 0));
 * check(htone_optimizer_step(optimizer));
 * check(htone_optimizer_step_count(optimizer, &count));
 * assert(count == 1);
 * @endcode
 */
#ifndef HALFTONE_SGD_H
#define HALFTONE_SGD_H

#include "halftone/nn.h"
#include "halftone/optim.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Settings of SGD optimizers. */
typedef struct htone_sgd_options {
  uint32_t struct_size;                /**< sizeof of this structure */
  htone_dtype compute_dtype;           /**< as in htone_adamw_options */
  double lr;                           /**< default 1e-3; finite in FP32, at least 0 */
  double momentum;                     /**< default 0; in [0, 1) */
  double dampening;                    /**< default 0; in [0, 1] */
  double weight_decay;                 /**< added to the gradient; default 0; finite in FP32, at least 0 */
  int32_t nesterov;                    /**< not 0: needs momentum above 0 and no dampening; default 0 */
  htone_dtype grad_dtype;              /**< as in htone_adamw_options */
  htone_dtype moment1_dtype;           /**< of the momentum buffer, as in htone_adamw_options */
  htone_master_storage master_storage; /**< as in htone_adamw_options */
  int64_t min_8bit_size;               /**< as in htone_adamw_options */
} htone_sgd_options;

/** The defaults, to initialize a htone_sgd_options where it is declared. */
#define HTONE_SGD_OPTIONS_INIT \
  { sizeof(htone_sgd_options), HTONE_F32, 1e-3, 0.0, 0.0, 0.0, 0, HTONE_F32, HTONE_F32, HTONE_MASTER_FULL, 4096 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_sgd_options_init(htone_sgd_options* options);

/** Makes an SGD optimizer over a module's parameters except the frozen ones, in one group. All of its state is
 * allocated.
 *
 * @param[in] module with parameters in f32, or for HTONE_MASTER_NONE in compute_dtype. They are retained, and belong
 *   to one optimizer at a time.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out the optimizer, before step 0; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, STATE (no parameters, or one has an optimizer),
 *   UNSUPPORTED, OUT_OF_MEMORY.
 * @precision FP32.
 * @source formulas and defaults of torch.optim.SGD.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_create_sgd(htone_module* module, const htone_sgd_options* options,
                                                  htone_optimizer** out);

/** Makes an SGD optimizer over a set of parameters, in one group. All of its state is allocated.
 *
 * @param[in] parameters in f32, or for HTONE_MASTER_NONE in compute_dtype; retained, none of them frozen. The set may
 *   change afterwards.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out the optimizer, before step 0; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, STATE (no parameters; one is frozen or has an optimizer),
 *   DEVICE (they are on several), UNSUPPORTED, OUT_OF_MEMORY.
 * @precision FP32.
 * @source formulas and defaults of torch.optim.SGD.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_create_sgd_over(htone_parameters* parameters, const htone_sgd_options* options,
                                                       htone_optimizer** out);

/** Adds a group of parameters with its own settings and storage, before the first step or later; its moments begin
 * then. Nothing changes if it fails.
 *
 * @param[in] optimizer an SGD optimizer; borrowed.
 * @param[in] parameters as for htone_optimizer_create_sgd_over.
 * @param[in] options optional; NULL means the defaults, not the first group's.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (it is another kind of optimizer), DTYPE_MISMATCH, STATE (no parameters;
 *   one is frozen, or in another group or optimizer; htone_grad_scaler_unscale ran and no step since), DEVICE,
 *   UNSUPPORTED, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_add_sgd_group(htone_optimizer* optimizer, htone_parameters* parameters,
                                                     const htone_sgd_options* options);

/** Reads the settings of a group as they are now; lr is the group's own, which the schedule multiplies.
 *
 * @param[in] optimizer an SGD optimizer; borrowed.
 * @param[in] index of the group, in the order of adding; below the group count.
 * @param[in,out] out_options struct_size set by the caller, as htone_sgd_options_init does; the other fields are
 *   written.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (it is another kind of optimizer; no such group).
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_sgd_group(htone_optimizer* optimizer, size_t index,
                                                 htone_sgd_options* out_options);

/** Changes the settings of a group, which hold from the next step on. A checkpoint saves them.
 *
 * @param[in] optimizer an SGD optimizer; borrowed.
 * @param[in] index of the group, in the order of adding; below the group count.
 * @param[in] options all settings, such as htone_optimizer_sgd_group with some of them changed. The dtypes,
 *   master_storage and min_8bit_size must be the group's, since its storage stays. Fields behind struct_size stay as
 *   they are.
 *   momentum stays 0 or above 0.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (another kind of optimizer; no such group; other storage), UNSUPPORTED.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_set_sgd_group(htone_optimizer* optimizer, size_t index,
                                                     const htone_sgd_options* options);

#ifdef __cplusplus
}
#endif

#endif
