// The dtypes of random tensors and of weights. Used by the sources that make them.
#pragma once

#include "base/arguments.h"
#include "ops/dispatch/check.h"

namespace halftone::capi {

// f64, f32, f16 or bf16. `shown` names the value in the message, "options.dtype" for a field.
inline DType checked_weight_dtype(htone_dtype dtype, ArgumentName argument, const char* shown) {
  const auto checked = static_cast<DType>(dtype);
  if (!is_arithmetic_float(checked)) {
    fail(Code::kInvalidArgument, argument.text(), "%s=%s, expected f64, f32, f16 or bf16", shown,
         htone_dtype_name(dtype));
  }
  return checked;
}

inline DType weight_dtype(htone_dtype dtype, ArgumentName argument) {
  return checked_weight_dtype(dtype, argument, "dtype");
}

}  // namespace halftone::capi
