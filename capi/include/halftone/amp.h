/** @file
 * Autocast: the choice of operations that compute in a low-precision dtype. Inside a scope, matrix products read their
 * inputs in the policy's dtype, losses, softmax and sums return FP32, and mixed elementwise operations return the
 * widest input. Weights are only read: their gradients have the dtype that the optimizer asked for.
 *
 * @code
 * htone_autocast_policy* policy;
 * htone_dtype dtype;
 * check(htone_autocast_policy_create(HTONE_BF16, &policy));
 * check(htone_module_forward(model, x, policy, &y));
 * check(htone_tensor_dtype(y, &dtype));
 * assert(dtype == HTONE_BF16);
 * @endcode
 */
#ifndef HALFTONE_AMP_H
#define HALFTONE_AMP_H

#include "halftone/autograd.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A table of the classes of all operations under autocast. It must not change while scopes use it. */
typedef struct htone_autocast_policy htone_autocast_policy;

/** The behaviour of an operation under autocast. */
typedef enum htone_autocast_class {
  HTONE_AUTOCAST_LOW = 1,                    /**< inputs are cast to the policy's dtype */
  HTONE_AUTOCAST_FP32 = 2,                   /**< computes and returns in FP32 */
  HTONE_AUTOCAST_WIDEST = 3,                 /**< returns the widest dtype among the f32, f16 and bf16 inputs */
  HTONE_AUTOCAST_AS_IS = 4,                  /**< the operation works as outside a scope */
  HTONE_AUTOCAST_CLASS_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_autocast_class;

/** Makes a policy with the default table.
 *
 * @param[in] dtype HTONE_BF16 or HTONE_F16; HTONE_F32 makes a policy that changes nothing.
 * @param[out] out the policy; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_autocast_policy_create(htone_dtype dtype, htone_autocast_policy** out);

/** Adds a reference.
 *
 * @param[in] policy a policy.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_autocast_policy_retain(htone_autocast_policy* policy);

/** Releases a reference.
 *
 * @param[in] policy optional; a policy.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_autocast_policy_release(htone_autocast_policy* policy);

/** Returns the class of an operation under a policy.
 *
 * @param[in] policy borrowed.
 * @param[in] op the function's name without its prefix: "matmul".
 * @param[out] out_class one of HTONE_AUTOCAST_...
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (no such operation).
 * @since 0.1
 */
HTONE_API htone_status htone_autocast_policy_class(htone_autocast_policy* policy, const char* op,
                                                   htone_autocast_class* out_class);

/** Sets the class of an operation under a policy.
 *
 * @param[in] policy borrowed.
 * @param[in] op the function's name without its prefix: "matmul".
 * @param[in] autocast_class one of HTONE_AUTOCAST_...; only HTONE_AUTOCAST_AS_IS for accuracy, reshape, transpose,
 *   slice and cast.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_autocast_policy_set_class(htone_autocast_policy* policy, const char* op,
                                                       htone_autocast_class autocast_class);

/** Returns how many bytes the casts under a policy wrote since it was made or reset, in all threads. It shows if the
 * copies of the weights are used: a read of a current copy, or of operands that already have the dtype, writes
 * nothing.
 *
 * @param[in] policy borrowed.
 * @param[out] out_parameters bytes for parameters that require a gradient and have no current copy in the dtype.
 * @param[out] out_tensors bytes for all other operands.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_autocast_policy_cast_bytes(htone_autocast_policy* policy, int64_t* out_parameters,
                                                        int64_t* out_tensors);

/** Sets both counts of htone_autocast_policy_cast_bytes to 0.
 *
 * @param[in] policy borrowed.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_autocast_policy_reset_cast_bytes(htone_autocast_policy* policy);

/** Applies a policy to this thread until the scope ends.
 *
 * @param[in] policy borrowed; the scope retains it.
 * @param[out] out the scope, ended by htone_scope_end on this thread, or by any thread after this one ended; owned by
 *   the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_autocast_begin(htone_autocast_policy* policy, htone_scope** out);

#ifdef __cplusplus
}
#endif

#endif
