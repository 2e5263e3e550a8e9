/** @file
 * DLPack: lending memory between array libraries of one process without a copy (dmlc/dlpack). The structures are those
 * of the standard and not defined here; a program that fills or reads them includes the standard's header, before or
 * after this one.
 *
 * If another library writes the memory, the checks of backward and a parameter's low-precision copy do not notice: call
 * htone_tensor_mark_written.
 *
 * @code
 * struct DLManagedTensorVersioned* lent; // for another library, which calls its deleter
 * check(htone_tensor_to_dlpack_versioned(x, &lent));
 * check(htone_tensor_from_dlpack_versioned(device, lent, &y)); // here it comes back: y has the memory of x
 * check(htone_tensor_fill(x, 7));
 * check(htone_tensor_mark_written(y));
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(values[0] == 7);
 * @endcode
 */
#ifndef HALFTONE_DLPACK_H
#define HALFTONE_DLPACK_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

struct DLManagedTensor;
struct DLManagedTensorVersioned;

/** Makes a tensor over memory that another library lends, in DLPack's structure of version 1. With the read-only flag,
 * or if elements share memory by their strides, it is read-only: calls that write it in place fail with STATE.
 *
 * @param[in] device a CPU device; borrowed.
 * @param[in] managed CPU memory of one of halftone's dtypes in one lane, at most HTONE_MAX_NDIM dimensions, no
 *   negative strides, aligned to the element size. On success its deleter runs once after the last reference was
 *   released, from any thread. On failure it does not run and the caller still owns managed, also for another major
 *   version.
 * @param[out] out the tensor, with managed's strides; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (sizes or strides that are negative or overflow, misaligned memory, a
 *   byte_offset beyond all memory), DEVICE (not of the CPU), UNSUPPORTED (another major version, unknown flags, dtype,
 *   lanes or too many dimensions), OUT_OF_MEMORY.
 * @source the DLPack specification, version 1.1.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_from_dlpack_versioned(htone_device* device,
                                                          struct DLManagedTensorVersioned* managed, htone_tensor** out);

/** Makes a tensor over memory that another library lends, in DLPack's structure from before version 1.
 *
 * @param[in] device a CPU device; borrowed.
 * @param[in] managed as in htone_tensor_from_dlpack_versioned; NULL strides mean row-major order.
 * @param[out] out the tensor; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DEVICE, UNSUPPORTED (as in htone_tensor_from_dlpack_versioned),
 *   OUT_OF_MEMORY.
 * @source the DLPack specification, version 1.1.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_from_dlpack(htone_device* device, struct DLManagedTensor* managed,
                                                htone_tensor** out);

/** Lends a tensor's memory in DLPack's structure of version 1. As in PyTorch, a tensor that requires a gradient is
 * refused, since backward would not see the changes of the borrower.
 *
 * @param[in] tensor on a CPU device, not requiring a gradient; its memory is retained until the deleter runs.
 * @param[out] out owned by the caller, who calls out->deleter(out) once, from any thread, also after all other
 *   releases.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DEVICE (not on the CPU), STATE (requires a gradient; detach it),
 *   OUT_OF_MEMORY.
 * @source the DLPack specification, version 1.1.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_to_dlpack_versioned(htone_tensor* tensor, struct DLManagedTensorVersioned** out);

/** Lends a tensor's memory in DLPack's structure from before version 1.
 *
 * @param[in] tensor as in htone_tensor_to_dlpack_versioned.
 * @param[out] out owned by the caller, who calls out->deleter(out) once, from any thread, also after all other
 *   releases.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DEVICE (not on the CPU), STATE (requires a gradient; read-only, which this
 *   structure cannot express), OUT_OF_MEMORY.
 * @source the DLPack specification, version 1.1.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_to_dlpack(htone_tensor* tensor, struct DLManagedTensor** out);

#ifdef __cplusplus
}
#endif

#endif
