// abs_max, quantize_scale and quantize: from a tensor to 8-bit floats with one scale.
#include "backend/formula/quantization.h"
#include "core/error.h"
#include "ops/dispatch/check.h"
#include "ops/scaled/check.h"
#include "ops/scaled/fp8.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

Tensor abs_max(const Tensor& input) {
  require_float(input, "input");
  Tensor result = empty(input.device(), DType::kF32, {});
  launch("abs_max", input.device(), &Kernels::convert, &ConvertKernels::abs_max, input.view(), result.view());
  return result;
}

Tensor quantize_scale(const Tensor& amax, DType dtype) {
  require_float8(dtype, "dtype");
  if (amax.dtype() != DType::kF32) {
    fail(Code::kDtypeMismatch, "amax", "amax is %s, expected f32", name_of(amax.dtype()));
  }
  Tensor result = empty(amax.device(), DType::kF32, {});
  launch("quantize_scale", amax.device(), &Kernels::convert, &ConvertKernels::quantize_scale, amax.view(),
         static_cast<double>(largest_of(dtype)), result.view());
  return result;
}

Tensor quantize(const Tensor& input, const Tensor& scale, DType dtype, const Tensor& amax) {
  require_float(input, "input");
  require_float8(dtype, "dtype");
  require_scale(input, "input", scale, "scale");
  require_written_scale(input, "input", amax, "amax");
  require_apart(amax, scale, "scale");
  Tensor result = empty(input.device(), dtype, input.shape());
  launch("quantize", input.device(), &Kernels::convert, &ConvertKernels::quantize, input.view(), scale.view(),
         amax.defined() ? amax.view() : View{}, result.view());
  if (amax.defined()) amax.bump_version();
  return result;
}

}  // namespace halftone::ops
