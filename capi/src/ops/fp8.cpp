#include "halftone/fp8.h"

#include "base/call.h"
#include "ops/scaled/fp8.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

Tensor scaled_matmul(const Tensor& a, const Tensor& b, const Tensor& scale_a, const Tensor& scale_b, DType dtype,
                     const Tensor& bias, const Tensor& scale_out, const Tensor& amax) {
  return ops::scaled_matmul(
      a, b, {.scale_a = scale_a, .scale_b = scale_b, .bias = bias, .scale_out = scale_out, .amax = amax}, dtype);
}

}  // namespace

htone_status htone_abs_max(htone_tensor* input, htone_tensor** out) { return Pure(ops::abs_max, input, out); }

htone_status htone_quantize_scale(htone_tensor* amax, htone_dtype dtype, htone_tensor** out) {
  return Pure(ops::quantize_scale, amax, as<checked_dtype>(dtype), out);
}

htone_status htone_quantize(htone_tensor* input, htone_tensor* scale, htone_dtype dtype, htone_tensor* amax,
                            htone_tensor** out) {
  return Call(ops::quantize, input, scale, as<checked_dtype>(dtype), optional(amax), out);
}

htone_status htone_scaled_matmul(htone_tensor* a, htone_tensor* b, htone_tensor* scale_a, htone_tensor* scale_b,
                                 htone_dtype dtype, htone_tensor* bias, htone_tensor* scale_out, htone_tensor* amax,
                                 htone_tensor** out) {
  return Call(scaled_matmul, a, b, scale_a, scale_b, as<checked_dtype>(dtype), optional(bias), optional(scale_out),
              optional(amax), out);
}
