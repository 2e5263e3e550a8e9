// Tensors to and from DLPack, the standard by which array libraries of one process lend each other memory. The C API's
// dlpack.h is made of this. Safe from any thread.
#pragma once

#include "tensor/dlpack_layout.h"
#include "tensor/tensor.h"

namespace halftone {

// A tensor over the lent memory, which stays the lender's until take_over. Throws INVALID_ARGUMENT, UNSUPPORTED or
// DEVICE for what halftone has no tensor for; messages name it `managed`.
Tensor from_dlpack(ContextDevice& device, const DLManagedTensor& managed);
Tensor from_dlpack(ContextDevice& device, const DLManagedTensorVersioned& managed);

// From now on the tensor's storage calls the lender's deleter, once, when its last reference goes.
void take_over(const Tensor& tensor, DLManagedTensor& managed) noexcept;
void take_over(const Tensor& tensor, DLManagedTensorVersioned& managed) noexcept;

// Lends the tensor's memory until the answer's deleter runs, which may be anywhere and after everything else of the
// tensor is gone. Throws STATE for a tensor that requires a gradient, DEVICE for memory that the host cannot read.
DLManagedTensorVersioned* to_dlpack_versioned(const Tensor& tensor);
// The same in the structure before version 1, which cannot say that memory is read-only: STATE for such a tensor.
DLManagedTensor* to_dlpack(const Tensor& tensor);

}  // namespace halftone
