/* Optimizers with FP32 master weights. Arithmetic is FP32 whatever the storage; the update
 * writes the master weights and, in the same pass, the low-precision copy that autocast reads.
 */
#ifndef HALFTONE_OPTIM_H
#define HALFTONE_OPTIM_H

#include "halftone/nn.h"
#include "halftone/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct htone_optimizer htone_optimizer;

typedef int32_t htone_master_storage;

/* How an optimizer keeps the weights that it updates. Split weights need compute_dtype HTONE_BF16: the bf16 copy,
 * rounded half up on the bit pattern, and a 16-bit remainder are the FP32 weights together, to the bit, and no FP32
 * tensor is kept. htone_parameter_tensor then answers the bf16 part, htone_parameter_read in HTONE_F32 joins the two;
 * leaves taken before do not follow. Weights stay split after the optimizer's release until another takes them.
 */
enum {
  HTONE_MASTER_FULL = 0, /* an FP32 tensor, and the copy beside it */
  HTONE_MASTER_SPLIT = 1 /* the copy and the remainder: 2 bytes a parameter less */
};

/* Moments in 8-bit codes have an FP32 scale for each block of 256 elements, and an element that is not finite makes its
 * block NaN. Second moments are rounded stochastically, keyed by the context's seed, the step and the element.
 */
typedef struct htone_adamw_options {
  uint32_t struct_size;
  htone_dtype compute_dtype; /* of the copy kept for autocast: HTONE_F32 (default, no copy), HTONE_BF16, HTONE_F16 */
  double lr;                 /* default 1e-3; finite, at least 0 */
  double beta1;              /* default 0.9; in [0, 1) */
  double beta2;              /* default 0.999; in [0, 1) */
  double epsilon;            /* default 1e-8; above 0 */
  double weight_decay;       /* decoupled; default 0.01; finite, at least 0 */
  htone_dtype grad_dtype;    /* of stored gradients: HTONE_F32 (default) or compute_dtype */
  htone_dtype moment1_dtype; /* of the first moment: HTONE_F32 (default), HTONE_BF16, or HTONE_I8 for 8-bit codes */
  htone_master_storage master_storage; /* default HTONE_MASTER_FULL */
  htone_dtype moment2_dtype;           /* of the second moment: HTONE_F32 (default), or HTONE_U8 for 8-bit codes */
} htone_adamw_options;

typedef struct htone_sgd_options {
  uint32_t struct_size;
  htone_dtype compute_dtype; /* as in htone_adamw_options */
  double lr;                 /* default 1e-3; finite, at least 0 */
  double momentum;           /* default 0; in [0, 1) */
  double dampening;          /* default 0; in [0, 1] */
  double weight_decay;       /* added to the gradient; default 0; finite, at least 0 */
  int32_t nesterov;          /* not 0: needs momentum above 0 and no dampening; default 0 */
  htone_dtype grad_dtype;    /* these three as in htone_adamw_options; moment1 is the momentum buffer */
  htone_dtype moment1_dtype;
  htone_master_storage master_storage;
} htone_sgd_options;

/* Fills options with the defaults.
 *
 * [out] options: caller's memory.
 * Errors: INVALID_ARGUMENT.
 * Since: 0.1
 */
HTONE_API htone_status htone_adamw_options_init(htone_adamw_options* options);

/* Fills options with the defaults.
 *
 * [out] options: caller's memory.
 * Errors: INVALID_ARGUMENT.
 * Since: 0.1
 */
HTONE_API htone_status htone_sgd_options_init(htone_sgd_options* options);

/* Makes an AdamW optimizer over a module's parameters and allocates all of its state.
 *
 * [in] module: with f32 parameters; its parameters are retained. A parameter belongs to one optimizer at a time.
 * [in] options: optional; NULL means the defaults.
 * [out] out: the optimizer, before step 0; owned by the caller.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, STATE (no parameters, or one has an optimizer),
 *   UNSUPPORTED, OUT_OF_MEMORY.
 * Precision: FP32.
 * Source: Loshchilov and Hutter, arXiv:1711.05101; formulas and defaults of torch.optim.AdamW.
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_create_adamw(htone_module* module, const htone_adamw_options* options,
                                                    htone_optimizer** out);

/* Makes an SGD optimizer over a module's parameters and allocates all of its state.
 *
 * [in] module: with f32 parameters; its parameters are retained. A parameter belongs to one optimizer at a time.
 * [in] options: optional; NULL means the defaults.
 * [out] out: the optimizer, before step 0; owned by the caller.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, STATE, UNSUPPORTED, OUT_OF_MEMORY.
 * Precision: FP32.
 * Source: formulas and defaults of torch.optim.SGD.
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_create_sgd(htone_module* module, const htone_sgd_options* options,
                                                  htone_optimizer** out);

/* Adds a reference.
 *
 * [in] optimizer: an optimizer.
 * Errors: INVALID_HANDLE.
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_retain(htone_optimizer* optimizer);

/* Gives a reference back.
 *
 * [in] optimizer: optional; an optimizer.
 * Errors: INVALID_HANDLE.
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_release(htone_optimizer* optimizer);

/* Marks every gradient to be written anew by the next backward. Their memory stays.
 *
 * [in] optimizer: borrowed.
 * Errors: INVALID_HANDLE.
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_zero_grad(htone_optimizer* optimizer);

/* Updates the parameters that have a gradient since zero_grad; the others stay. All parameters share one count of
 * steps: one whose first gradient comes late is corrected as if it had been there from the start. Does not wait for the
 * device.
 *
 * [in] optimizer: borrowed.
 * Errors: INVALID_HANDLE, STATE (no parameter has a gradient; a failed backward left invalid ones).
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_step(htone_optimizer* optimizer);

/* Makes the learning rate follow a schedule from the next step on; its position is the number of steps taken.
 *
 * [in] optimizer: borrowed.
 * [in] schedule: copied.
 * Errors: INVALID_HANDLE.
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_set_schedule(htone_optimizer* optimizer, htone_schedule* schedule);

/* Answers the learning rate that the next step will use; waits for the device.
 *
 * [in] optimizer: borrowed.
 * [out] out_lr: the learning rate.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT.
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_lr(htone_optimizer* optimizer, double* out_lr);

/* Answers how many steps were taken; waits for the device.
 *
 * [in] optimizer: borrowed.
 * [out] out_count: the number of updates.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT.
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_step_count(htone_optimizer* optimizer, int64_t* out_count);

/* Computes the Euclidean norm of all gradients together, times htone_optimizer_grad_factor; waits for the device.
 *
 * [in] optimizer: borrowed.
 * [out] out_norm: the norm; infinite or NaN where a gradient is.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, STATE (no parameter has a gradient).
 * Precision: FP32 sums over 256 elements, then double.
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_grad_norm(htone_optimizer* optimizer, double* out_norm);

/* Answers what the next step multiplies stored gradients by: 1/scale after htone_grad_scaler_unscale, times what
 * clipping took away; 1 after each step. Waits for the device.
 *
 * [in] optimizer: borrowed.
 * [out] out_factor: the factor.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT.
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_grad_factor(htone_optimizer* optimizer, double* out_factor);

/* Makes the next step work with gradients whose norm, all together, is at most max_norm. The stored gradients stay.
 * Under a gradient scaler it comes after htone_grad_scaler_unscale.
 *
 * [in] optimizer: borrowed.
 * [in] max_norm: finite, above 0.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, STATE (no parameter has a gradient).
 * Source: the formula of torch.nn.utils.clip_grad_norm_.
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_clip_grad_norm(htone_optimizer* optimizer, double max_norm);

/* Bounds every element of a gradient, after the factor, to [-value, value] in all steps to come.
 *
 * [in] optimizer: borrowed.
 * [in] value: above 0; infinity lifts the bound.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT.
 * Since: 0.1
 */
HTONE_API htone_status htone_optimizer_set_clip_value(htone_optimizer* optimizer, double value);

#ifdef __cplusplus
}
#endif

#endif
