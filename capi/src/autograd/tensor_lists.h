// Arguments that are lists of tensors. Used by the sources about gradients.
#pragma once

#include <vector>

#include "base/call_arguments.h"
#include "tensor/handles.h"

namespace halftone::capi {

inline size_t positive_count(size_t count, ArgumentName name) {
  if (count == 0) fail(Code::kInvalidArgument, name.text(), "%s=0, expected at least 1", name.text());
  return count;
}

// At least one tensor.
inline std::vector<Tensor> some_inputs(size_t input_count, htone_tensor* const* inputs) {
  return held_objects(positive_count(input_count, "input_count"), inputs, "inputs");
}
inline std::vector<Tensor> some_outputs(size_t output_count, htone_tensor* const* outputs) {
  return held_objects(positive_count(output_count, "output_count"), outputs, "outputs");
}

}  // namespace halftone::capi
