// Counts the bytes of the tensors that Java and C# receive. Their collectors do not see that memory, so NativeMemory of
// each language reads the number where it is: a call for each tensor would cost more.
#ifndef HALFTONE_BINDINGS_RETURNED_TENSORS_H
#define HALFTONE_BINDINGS_RETURNED_TENSORS_H

#include <stdint.h>

#include <atomic>

#include "halftone/tensor.h"

namespace ht {

// An upper bound of the bytes of all tensors that were returned, and about as much as each needs beside its elements.
inline std::atomic<int64_t>& returned_bytes() {
  static std::atomic<int64_t> bytes{0};
  return bytes;
}

inline void count_returned(const void*) {}  // another object

// Asks for the number of elements alone: the dtype would be a second question.
inline void count_returned(htone_tensor* tensor) {
  int64_t count = 0;
  if (tensor == nullptr || htone_tensor_numel(tensor, &count) != HTONE_OK) return;
  returned_bytes().fetch_add(count * int64_t(sizeof(double)) + 512, std::memory_order_relaxed);
}

}  // namespace ht

#endif
