/** @file
 * Gradients that are returned, and added to no leaf. autograd.h has backward, which adds them.
 *
 * @code
 * check(htone_tensor_set_requires_grad(x, 1));
 * check(htone_mul(x, x, &loss));
 * check(htone_sum(loss, 0, NULL, 0, &loss));
 * check(htone_gradients(1, &loss, NULL, 1, &x, NULL, &y)); // 2 x, and nothing is added to x
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(values[5] == 12);
 * @endcode
 */
#ifndef HALFTONE_GRADIENTS_H
#define HALFTONE_GRADIENTS_H

#include "halftone/autograd.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Settings of htone_gradients. */
typedef struct htone_gradients_options {
  uint32_t struct_size;     /**< sizeof of this structure */
  int32_t retain_graph;     /**< not 0: keeps what the operations saved, so that they can run again; default 0 */
  int32_t allow_unused;     /**< not 0: an input that no output was computed from gets NULL; default 0, an error */
  int32_t zeros_for_unused; /**< not 0: such an input gets zeros, and is allowed; default 0 */
} htone_gradients_options;

/** The defaults, to initialize a htone_gradients_options where it is declared. */
#define HTONE_GRADIENTS_OPTIONS_INIT \
  { sizeof(htone_gradients_options), 0, 0, 0 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_gradients_options_init(htone_gradients_options* options);

/** Computes the gradients of the outputs' sum, weighted by `gradients`, to some tensors. The gradients of leaves stay
 * as they are, also after a failure. Operations that do not lead to an input do not run. Hooks of
 * htone_tensor_add_gradient_hook see the gradients, those on parameters do not run.
 *
 * @param[in] output_count at least 1.
 * @param[in] outputs [output_count]; results of recorded operations; borrowed.
 * @param[in] gradients optional; [output_count]; each of its output's shape and float, or NULL, which is optional
 *   where the output is a scalar, and then 1; borrowed.
 * @param[in] input_count at least 1.
 * @param[in] inputs [input_count]; tensors that require a gradient: leaves, or results of operations that the outputs
 *   were computed from; borrowed.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out_gradients [input_count]; shapes and dtypes of the inputs; owned by the caller. NULL where
 *   allow_unused says so.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, STATE (an output was not recorded; an
 *   input requires no gradient; an input was not used; and as htone_tensor_backward), DEVICE, UNSUPPORTED,
 *   OUT_OF_MEMORY, CALLBACK (as htone_tensor_backward).
 * @source torch.autograd.grad.
 * @since 0.1
 */
HTONE_API htone_status htone_gradients(size_t output_count, htone_tensor* const* outputs,
                                       htone_tensor* const* gradients, size_t input_count, htone_tensor* const* inputs,
                                       const htone_gradients_options* options, htone_tensor** out_gradients);

#ifdef __cplusplus
}
#endif

#endif
