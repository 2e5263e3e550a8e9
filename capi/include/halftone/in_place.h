/** @file
 * Arithmetic that writes its result into its first operand. Nothing is recorded: a call that had to be recorded is
 * refused, and a backward that saved the written tensor fails with STATE, as after htone_tensor_write.
 *
 * The result is computed in the dtype that the operands are promoted to (ops.h) and converted to that of the tensor. As
 * in PyTorch a float result is not written into integers, nor a number into bools.
 *
 * @code
 * check(htone_tensor_ones_like(x, &y));
 * check(htone_tensor_add_in_place(y, x));
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(values[0] == 2 && values[5] == 7);
 * @endcode
 */
#ifndef HALFTONE_IN_PLACE_H
#define HALFTONE_IN_PLACE_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Adds another tensor to a tensor: tensor += other.
 *
 * @param[in] tensor float, integer or bool; outside autograd, or a leaf outside of recording; borrowed.
 * @param[in] other float, integer or bool; its shape broadcasts to that of tensor; it may share memory with it;
 *   borrowed.
 * @errors INVALID_HANDLE, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, STATE (tensor is a result that backward needs, is
 *   read-only, or is a leaf that requires a gradient while this thread records; other requires a gradient while this
 *   thread records), OUT_OF_MEMORY.
 * @precision as htone_add.
 * @source torch.Tensor.add_; PyTorch records it.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_add_in_place(htone_tensor* tensor, htone_tensor* other);

/** Subtracts another tensor from a tensor: tensor -= other.
 *
 * @param[in] tensor float or integer; outside autograd, or a leaf outside of recording; borrowed.
 * @param[in] other float, integer or bool; its shape broadcasts to that of tensor; it may share memory with it;
 *   borrowed.
 * @errors INVALID_HANDLE, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, STATE (tensor is a result that backward needs, is
 *   read-only, or is a leaf that requires a gradient while this thread records; other requires a gradient while this
 *   thread records), OUT_OF_MEMORY.
 * @precision as htone_sub.
 * @source torch.Tensor.sub_; PyTorch records it.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_sub_in_place(htone_tensor* tensor, htone_tensor* other);

/** Multiplies a tensor by another one: tensor *= other.
 *
 * @param[in] tensor float, integer or bool; outside autograd, or a leaf outside of recording; borrowed.
 * @param[in] other float, integer or bool; its shape broadcasts to that of tensor; it may share memory with it;
 *   borrowed.
 * @errors INVALID_HANDLE, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, STATE (tensor is a result that backward needs, is
 *   read-only, or is a leaf that requires a gradient while this thread records; other requires a gradient while this
 *   thread records), OUT_OF_MEMORY.
 * @precision as htone_mul.
 * @source torch.Tensor.mul_; PyTorch records it.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_mul_in_place(htone_tensor* tensor, htone_tensor* other);

/** Divides a tensor by another one: tensor /= other.
 *
 * @param[in] tensor float; outside autograd, or a leaf outside of recording; borrowed.
 * @param[in] other float, integer or bool; its shape broadcasts to that of tensor; it may share memory with it;
 *   borrowed.
 * @errors INVALID_HANDLE, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, STATE (tensor is a result that backward needs, is
 *   read-only, or is a leaf that requires a gradient while this thread records; other requires a gradient while this
 *   thread records), OUT_OF_MEMORY.
 * @precision as htone_div.
 * @source torch.Tensor.div_; PyTorch records it.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_div_in_place(htone_tensor* tensor, htone_tensor* other);

#ifdef __cplusplus
}
#endif

#endif
