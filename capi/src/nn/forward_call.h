// One forward of a module as a callback sees it. Used by the sources of custom modules and of hooks.
#pragma once

#include "halftone/forward.h"

namespace halftone::capi {

inline htone_forward_call forward_call(size_t input_count, size_t output_count, htone_tensor* const* inputs,
                                       htone_tensor* const* outputs, htone_tensor** out_tensors) {
  return {.struct_size = sizeof(htone_forward_call),
          .reserved = 0,
          .input_count = input_count,
          .output_count = output_count,
          .inputs = inputs,
          .outputs = outputs,
          .out_tensors = out_tensors};
}

}  // namespace halftone::capi
