// DLPack's structures (dmlc/dlpack, version 1.1), and the loan of a tensor's memory by them: it keeps the memory after
// the tensor's object was closed or its scope has ended, as no handle does. Included only by the generated wrappers.
#ifndef HALFTONE_BINDINGS_DLPACK_H
#define HALFTONE_BINDINGS_DLPACK_H

#include <stdint.h>

#include "halftone/dlpack.h"

extern "C" {
struct DLTensor {
  void* data;
  int32_t device[2];
  int32_t ndim;
  uint32_t dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  struct DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  uint32_t version[2];
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned*);
  uint64_t flags;
  struct DLTensor dl_tensor;
};
}

namespace ht {

// Address of the first element; for an empty tensor any that is not NULL.
inline void* address_of(const DLManagedTensorVersioned& loan) {
  if (loan.dl_tensor.data == nullptr) return const_cast<DLManagedTensorVersioned*>(&loan);
  return static_cast<char*>(loan.dl_tensor.data) + loan.dl_tensor.byte_offset;
}

inline bool is_read_only(const DLManagedTensorVersioned& loan) { return (loan.flags & 1) != 0; }

}  // namespace ht

#endif
