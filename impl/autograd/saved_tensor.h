// A tensor kept for backward, with the version that it had. The result of an operation is cut off from the graph, so
// that no cycle forms when the operation saves it. A leaf stays as it is: the node refers to it through an edge anyway.
// Refers to the storage, so weights that are released after forward are read again at backward, where the storage's
// restorer brings them back. Within a
// recompute region the region may have the tensor in its place (autograd/recompute.h).
#pragma once

#include <cstdint>

#include "autograd/recompute.h"

namespace halftone {

class SavedTensor {
 public:
  SavedTensor() = default;
  explicit SavedTensor(const Tensor& tensor);

  // The reference is valid while the backward of one node runs. Throws STATE where the tensor was written since, or was
  // released and no restorer brings it back; and what recomputing or restoring it throws.
  const Tensor& unpack() const;
  void reset() noexcept { *this = SavedTensor(); }

 private:
  SavedValue value_;             // of a tensor that the region makes again, its index in place of the version
  Ref<RecomputeRegion> region_;  // null where value_ has the tensor
};

}  // namespace halftone
