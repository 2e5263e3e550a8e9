// The results of operations that return elements and their indices.
#pragma once

#include "base/call_results.h"
#include "base/objects.h"
#include "ops/ops.h"

namespace halftone::capi {

// Both results or none.
struct PairResult {
  static constexpr int kParameters = 2;
  htone_tensor** out_values;
  htone_tensor** out_indices;

  void require(ArgumentName name) const {
    require_memory(out_values, name);
    require_memory(out_indices, name.next());
  }
  void give(const ops::ValuesAndIndices& pair) const {
    htone_tensor* handles[2];
    TensorHandles({pair.values, pair.indices}).hand_over(handles);
    *out_values = handles[0];
    *out_indices = handles[1];
  }
};
inline PairResult values_and_indices(htone_tensor** out_values, htone_tensor** out_indices) {
  return {out_values, out_indices};
}

}  // namespace halftone::capi
