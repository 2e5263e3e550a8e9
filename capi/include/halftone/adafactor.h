/** @file
 * Adafactor: steps in proportion to the weights, with one variance of the gradient for each row and each column of a
 * matrix instead of one for each element.
 *
 * @code
 * htone_adafactor_options options = HTONE_ADAFACTOR_OPTIONS_INIT;
 * options.weight_decay = 0.01;
 * check(htone_optimizer_create_adafactor(model, &options, &optimizer));
 * check(htone_tensor_backward(loss, NULL, 0));
 * check(htone_optimizer_step(optimizer));
 * check(htone_optimizer_step_count(optimizer, &count));
 * assert(count == 1);
 * @endcode
 */
#ifndef HALFTONE_ADAFACTOR_H
#define HALFTONE_ADAFACTOR_H

#include "halftone/nn.h"
#include "halftone/optim.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Settings of Adafactor optimizers. A parameter of two or more dimensions is a list of matrices of the last two. Each
 * matrix keeps an FP32 number for each row, for each column, and for itself. Other parameters keep one for each
 * element. A step of a parameter is max(epsilon2, RMS of the weights) min(lr, 1 / sqrt(t)) times the gradient over the
 * root of its variance; the RMS of this quotient is bounded by clip_threshold. t counts the updates of the parameter.
 * Sums over a parameter have an order that does not depend on the number of threads.
 */
typedef struct htone_adafactor_options {
  uint32_t struct_size;      /**< sizeof of this structure */
  htone_dtype compute_dtype; /**< as in htone_adamw_options */
  double lr;                 /**< default 1e-2; finite in FP32, at least 0 */
  double beta2_decay;     /**< weight of a new square in the means: t to this power; default -0.8; finite, at most 0 */
  double epsilon1;        /**< least mean of row variances, least root of a variance; default 2^-23; above 0 in FP32 */
  double epsilon2;        /**< smallest RMS of the weights; default 1e-3; finite in FP32, at least 0 */
  double clip_threshold;  /**< PyTorch's d; default 1; finite, at least 1 */
  double weight_decay;    /**< decoupled; default 0; finite in FP32, at least 0 */
  htone_dtype grad_dtype; /**< as in htone_adamw_options */
  htone_master_storage master_storage; /**< as in htone_adamw_options */
} htone_adafactor_options;

/** The defaults, to initialize an htone_adafactor_options where it is declared. */
#define HTONE_ADAFACTOR_OPTIONS_INIT                                                                          \
  {                                                                                                           \
    sizeof(htone_adafactor_options), HTONE_F32, 1e-2, -0.8, 1.1920928955078125e-7, 1e-3, 1.0, 0.0, HTONE_F32, \
        HTONE_MASTER_FULL                                                                                     \
  }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_adafactor_options_init(htone_adafactor_options* options);

/** Makes an Adafactor optimizer over a module's parameters except the frozen ones, in one group. All of its state is
 * allocated.
 *
 * @param[in] module with parameters in f32, or for HTONE_MASTER_NONE in compute_dtype. They are retained, and belong
 *   to one optimizer at a time.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out the optimizer, before step 0; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, STATE (no parameters, or one has an optimizer),
 *   UNSUPPORTED (also a parameter whose update several ranks share), OUT_OF_MEMORY.
 * @precision FP32.
 * @source Shazeer and Stern, arXiv:1804.04235; formulas and defaults of torch.optim.Adafactor.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_create_adafactor(htone_module* module, const htone_adafactor_options* options,
                                                        htone_optimizer** out);

/** Makes an Adafactor optimizer over a set of parameters, in one group. All of its state is allocated.
 *
 * @param[in] parameters in f32, or for HTONE_MASTER_NONE in compute_dtype; retained, none of them frozen. The set may
 *   change afterwards.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out the optimizer, before step 0; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, STATE (no parameters; one is frozen or has an optimizer),
 *   DEVICE (they are on several), UNSUPPORTED (also if several ranks share the update of a parameter), OUT_OF_MEMORY.
 * @precision FP32.
 * @source Shazeer and Stern, arXiv:1804.04235; formulas and defaults of torch.optim.Adafactor.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_create_adafactor_over(htone_parameters* parameters,
                                                             const htone_adafactor_options* options,
                                                             htone_optimizer** out);

/** Adds a group of parameters with its own settings and storage, before the first step or later; its variances begin
 * then. Nothing changes if it fails.
 *
 * @param[in] optimizer an Adafactor optimizer; borrowed.
 * @param[in] parameters as for htone_optimizer_create_adafactor_over.
 * @param[in] options optional; NULL means the defaults, not the first group's.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (it is another kind of optimizer), DTYPE_MISMATCH, STATE (no parameters;
 *   one is frozen, or in another group or optimizer; htone_grad_scaler_unscale ran and no step since), DEVICE,
 *   UNSUPPORTED, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_add_adafactor_group(htone_optimizer* optimizer, htone_parameters* parameters,
                                                           const htone_adafactor_options* options);

/** Reads the settings of a group as they are now; lr is the group's own, which the schedule multiplies.
 *
 * @param[in] optimizer an Adafactor optimizer; borrowed.
 * @param[in] index of the group, in the order of adding; below the group count.
 * @param[in,out] out_options struct_size set by the caller, as htone_adafactor_options_init does; the other fields are
 *   written.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (it is another kind of optimizer; no such group).
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_adafactor_group(htone_optimizer* optimizer, size_t index,
                                                       htone_adafactor_options* out_options);

/** Changes the settings of a group, which hold from the next step on. A checkpoint saves them.
 *
 * @param[in] optimizer an Adafactor optimizer; borrowed.
 * @param[in] index of the group, in the order of adding; below the group count.
 * @param[in] options all settings, such as htone_optimizer_adafactor_group with some of them changed. The dtypes and
 *   master_storage must be the group's, since its storage stays. Fields behind struct_size stay as they are.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (another kind of optimizer; no such group; other storage), UNSUPPORTED.
 * @since 0.1
 */
HTONE_API htone_status htone_optimizer_set_adafactor_group(htone_optimizer* optimizer, size_t index,
                                                           const htone_adafactor_options* options);

#ifdef __cplusplus
}
#endif

#endif
