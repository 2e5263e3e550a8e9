/** @file
 * Gradients: the tensors that require one, backward, and the scopes that switch recording off. A tensor that the caller
 * made, and for which it asked for a gradient, is a leaf. Backward adds to the gradient of a leaf. Higher-order
 * gradients are not supported. Backward changes the leaves and the recorded operations of a tensor: two threads must
 * not run it through shared ones at once.
 *
 * @code
 * check(htone_tensor_set_requires_grad(x, 1));
 * check(htone_mul(x, x, &y));
 * check(htone_sum(y, 0, NULL, 0, &y));
 * check(htone_tensor_backward(y, NULL, 0));
 * check(htone_tensor_grad(x, &y)); // 2 x
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(values[0] == 2 && values[5] == 12);
 * @endcode
 */
#ifndef HALFTONE_AUTOGRAD_H
#define HALFTONE_AUTOGRAD_H

#include "halftone/scope.h"
#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Chooses whether a leaf requires a gradient.
 *
 * @param[in] tensor f64, f32, f16 or bf16; a leaf; borrowed.
 * @param[in] requires_grad not 0: it requires one.
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
 * If it fails on the way, the gradients of the leaves that it reaches are invalid until they are zeroed (also by
 * htone_optimizer_zero_grad) or replaced. Until then, reading them and stepping return STATE, and a later backward
 * drops its gradients for them.
 *
 * @param[in] tensor a result of recorded operations; borrowed.
 * @param[in] gradient optional if tensor is a scalar, then 1; else shape of tensor, float; borrowed.
 * @param[in] retain_graph not 0 keeps the saved tensors, so that backward can run again.
 * @errors INVALID_HANDLE, SHAPE_MISMATCH, DTYPE_MISMATCH, STATE (nothing was recorded; ran before without
 *   retain_graph; a saved tensor has changed since; not a scalar and no gradient; called from a callback of a
 *   backward), DEVICE, UNSUPPORTED, OUT_OF_MEMORY, CALLBACK (a function or a hook of the caller failed; native_code is
 *   its status), INVALID_ARGUMENT (indices or targets that the caller rewrote are out of range, found before anything
 *   is written), and INVALID_HANDLE, SHAPE_MISMATCH, DTYPE_MISMATCH and DEVICE also for a gradient that one of them
 *   returns.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_backward(htone_tensor* tensor, htone_tensor* gradient, int32_t retain_graph);

/** Returns the gradient of a leaf.
 *
 * @param[in] tensor a leaf; borrowed.
 * @param[out] out the gradient, shape of tensor; it changes with the next backward, also after it is zeroed; owned by
 *   the caller. A copy (htone_tensor_clone) does not change.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (there is none; it is invalid since a failed backward; tensor is no
 *   leaf that requires a gradient).
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_grad(htone_tensor* tensor, htone_tensor** out);

/** Drops a leaf's gradient: there is none until the next backward writes it anew. Its memory is released, unless the
 * caller holds it.
 *
 * @param[in] tensor a leaf; borrowed.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_zero_grad(htone_tensor* tensor);

/** Returns the values of a tensor without its recorded operations; shares storage.
 *
 * @param[in] tensor borrowed.
 * @param[out] out requires no gradient; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_detach(htone_tensor* tensor, htone_tensor** out);

/** Stops this thread from recording until the scope ends.
 *
 * @param[out] out the scope; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_no_grad_begin(htone_scope** out);

/** The values that anomaly mode looks for. */
typedef enum htone_anomaly {
  HTONE_ANOMALY_NAN = 1,              /**< only NaN: for models that mask with infinities */
  HTONE_ANOMALY_NOT_FINITE = 2,       /**< NaN and infinities */
  HTONE_ANOMALY_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_anomaly;

/** Checks the results of this thread's operations, and the gradients that backward computes from them, until the scope
 * ends. The call that makes the first NaN or infinity fails with NOT_FINITE; its message names the layer, the
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
