/** @file
 * Gradients: which tensors want one, running backward, and the scopes that switch recording off. A tensor that a caller
 * made and asked a gradient for is a leaf; backward adds its gradient to what the leaf holds. Higher-order gradients
 * are not supported. Backward changes the leaves and the recorded operations behind a tensor: two threads must not run
 * it through shared ones at once.
 */
#ifndef HALFTONE_AUTOGRAD_H
#define HALFTONE_AUTOGRAD_H

#include "halftone/scope.h"
#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Asks a leaf for a gradient, or no longer.
 *
 * @param[in] tensor f64, f32, f16 or bf16; a leaf; borrowed.
 * @param[in] requires_grad not 0 asks for one.
 * @errors INVALID_HANDLE, DTYPE_MISMATCH, STATE (a result of an operation), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_set_requires_grad(htone_tensor* tensor, int32_t requires_grad);

/** Returns whether backward reaches the tensor.
 *
 * @param[in] tensor borrowed.
 * @param[out] out_requires_grad 1 or 0.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_requires_grad(htone_tensor* tensor, int32_t* out_requires_grad);

/** Computes the gradients of a tensor's sum, weighted by `gradient`, and adds them to the leaves. Runs on this thread.
 * Where it fails on the way, the gradients of the leaves that it reaches are invalid until they are zeroed, also by
 * htone_optimizer_zero_grad, or another is brought: reading them and stepping is STATE, and what a later backward has
 * for them is dropped.
 *
 * @param[in] tensor a result of recorded operations; borrowed.
 * @param[in] gradient optional where tensor is a scalar, then 1; else shape of tensor, float; borrowed.
 * @param[in] retain_graph not 0 keeps what backward saved, so that it can run again.
 * @errors INVALID_HANDLE, SHAPE_MISMATCH, DTYPE_MISMATCH, STATE (nothing was recorded; ran before without
 *   retain_graph; a tensor it saved was changed since; not a scalar and no gradient; called from a callback of a
 *   backward), DEVICE, UNSUPPORTED, OUT_OF_MEMORY, CALLBACK (a function or a hook of the host's failed; native_code is
 *   what it returned), INVALID_ARGUMENT (indices or targets that the host rewrote are out of range, found before
 *   anything is written), and INVALID_HANDLE, SHAPE_MISMATCH, DTYPE_MISMATCH and DEVICE also for a gradient that one
 *   of them hands back.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_backward(htone_tensor* tensor, htone_tensor* gradient, int32_t retain_graph);

/** Returns the gradient that backward left at a leaf.
 *
 * @param[in] tensor a leaf; borrowed.
 * @param[out] out the gradient, shape of tensor; it changes with the next backward; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (there is none; it is invalid since a failed backward; tensor is no
 *   leaf that requires a gradient).
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_grad(htone_tensor* tensor, htone_tensor** out);

/** Forgets a leaf's gradient: the next backward writes it anew.
 *
 * @param[in] tensor a leaf; borrowed.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_zero_grad(htone_tensor* tensor);

/** Returns the same values cut off from what was recorded; shares storage.
 *
 * @param[in] tensor borrowed.
 * @param[out] out requires no gradient; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_detach(htone_tensor* tensor, htone_tensor** out);

/** Stops this thread from recording until the scope is ended.
 *
 * @param[out] out the scope; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_no_grad_begin(htone_scope** out);

/** What anomaly mode looks for. */
typedef enum htone_anomaly {
  HTONE_ANOMALY_NAN = 1,        /**< NaN alone: for models that mask with infinities */
  HTONE_ANOMALY_NOT_FINITE = 2, /**< NaN and infinities */
  HTONE_ANOMALY_MAX_ENUM = 0x7FFFFFFF
} htone_anomaly;

/** Checks the results of this thread's operations, and the gradients that backward computes from them, until the scope
 * is ended. The call that makes the first NaN or infinity fails with NOT_FINITE; its message names the layer, the
 * operation, the element, and whether the inputs were finite. Every check waits for the device and reads the tensor:
 * use it to find a fault. Comparisons and operations on integers are not checked.
 *
 * @param[in] anomaly one of HTONE_ANOMALY_...
 * @param[out] out the scope; owned by the caller.
 * @errors INVALID_ARGUMENT, STATE, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_anomaly_begin(htone_anomaly anomaly, htone_scope** out);

#ifdef __cplusplus
}
#endif

#endif
