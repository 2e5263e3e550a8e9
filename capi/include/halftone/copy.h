/** @file
 * Copies of tensors: whole, in another layout, dtype or device, and from one tensor into another.
 *
 * @code
 * htone_dtype dtype;
 * check(htone_tensor_to(x, device, HTONE_BF16, &y));
 * check(htone_tensor_dtype(y, &dtype));
 * assert(dtype == HTONE_BF16);
 * check(htone_tensor_copy_from(x, y)); // converts back
 * @endcode
 */
#ifndef HALFTONE_COPY_H
#define HALFTONE_COPY_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Makes a copy with memory of its own. Where the tensor requires a gradient, the copy is recorded, and its gradient
 * flows back unchanged.
 *
 * @param[in] tensor any shape and dtype; borrowed.
 * @param[out] out shape and dtype of tensor, contiguous; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @source torch.clone; the strides are not kept.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_clone(htone_tensor* tensor, htone_tensor** out);

/** Returns the elements in row-major order without gaps. Where the tensor requires a gradient, a copy is recorded.
 *
 * @param[in] tensor any shape and dtype; borrowed.
 * @param[out] out the tensor itself where it is contiguous, else a copy; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @source torch.Tensor.contiguous.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_contiguous(htone_tensor* tensor, htone_tensor** out);

/** Returns whether the elements are in row-major order without gaps. Strides of dimensions of size 1 do not count, and
 * a tensor without elements is contiguous.
 *
 * @param[in] tensor borrowed.
 * @param[out] out_is_contiguous 1 or 0.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_is_contiguous(htone_tensor* tensor, int32_t* out_is_contiguous);

/** Returns whether a write to the memory of a tensor could be seen elsewhere: by another tensor over it, such as a
 * view, by a graph that saved it for backward, by a program to which it was lent, or by the caller whose buffer it is.
 * A language whose `x += y` makes a new tensor while operations are recorded refuses it there.
 *
 * @param[in] tensor borrowed.
 * @param[out] out_is_shared 1 or 0; 0 for a tensor without elements.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_is_shared(htone_tensor* tensor, int32_t* out_is_shared);

/** Converts a tensor to a dtype and moves it to a device. Where the tensor requires a gradient and dtype is f64, f32,
 * f16 or bf16, the result is recorded; its gradient returns to the tensor's dtype and device.
 *
 * @param[in] tensor any shape and dtype; borrowed.
 * @param[in] device optional; NULL keeps the tensor's device; borrowed.
 * @param[in] dtype of the result; converted as htone_cast does.
 * @param[out] out the tensor itself where nothing changes, else a contiguous copy; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @source torch.Tensor.to.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_to(htone_tensor* tensor, htone_device* device, htone_dtype dtype,
                                       htone_tensor** out);

/** Writes the elements of another tensor into a tensor. Nothing is recorded: a call that had to be recorded is refused.
 *
 * @param[in] tensor any dtype and layout; outside autograd, or a leaf outside of recording; borrowed.
 * @param[in] source any dtype, device and layout; its shape broadcasts to that of tensor; converted as htone_cast
 *   does. It may share memory with tensor: all of it is read first. Borrowed.
 * @errors INVALID_HANDLE, SHAPE_MISMATCH, STATE (tensor is a result that backward needs, is read-only, or is a leaf
 *   that requires a gradient while this thread records; source requires a gradient while this thread records),
 *   OUT_OF_MEMORY.
 * @source torch.Tensor.copy_; PyTorch records it.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_copy_from(htone_tensor* tensor, htone_tensor* source);

/** Converts the elements to another dtype. Gradients flow between floats.
 *
 * @param[in] input any shape and dtype; borrowed.
 * @param[in] dtype of the result.
 * @param[out] out shape of input; owned by the caller. It is the input itself if that has this dtype.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @precision round to nearest even, subnormals and NaN kept. f8e4m3 saturates at 448. Float to integer truncates and
 *   saturates; NaN becomes 0. To bool: is not zero.
 * @since 0.1
 */
HTONE_API htone_status htone_cast(htone_tensor* input, htone_dtype dtype, htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
