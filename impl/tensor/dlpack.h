// Imports and exports tensors by DLPack, the standard by which array libraries in one process share memory. Implements
// the C API's dlpack.h. Safe from any thread.
#pragma once

#include "tensor/dlpack_layout.h"
#include "tensor/tensor.h"

namespace halftone {

// Makes a tensor over the producer's memory, which the producer still owns until take_over(). Throws INVALID_ARGUMENT,
// UNSUPPORTED or DEVICE for arrays that halftone cannot represent; messages name the argument `managed`.
Tensor from_dlpack(ContextDevice& device, const DLManagedTensor& managed);
Tensor from_dlpack(ContextDevice& device, const DLManagedTensorVersioned& managed);

// Makes the tensor's storage the owner: it calls the producer's deleter once, when its last reference goes.
void take_over(const Tensor& tensor, DLManagedTensor& managed) noexcept;
void take_over(const Tensor& tensor, DLManagedTensorVersioned& managed) noexcept;

// Exports the tensor. Its memory lives until the result's deleter runs, on any thread, and perhaps after all other
// references to the tensor are gone. Throws STATE for a tensor that requires a gradient, DEVICE for memory that is not
// accessible on the CPU.
DLManagedTensorVersioned* to_dlpack_versioned(const Tensor& tensor);
// Exports in the structure used before version 1. It has no read-only flag, so a read-only tensor is STATE.
DLManagedTensor* to_dlpack(const Tensor& tensor);

}  // namespace halftone
