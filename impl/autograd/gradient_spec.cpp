#include "autograd/gradient_spec.h"

#include "core/error.h"
#include "tensor/factory.h"

namespace halftone {

Tensor fitted(const Tensor& gradient, const GradientSpec& spec, const char* what) {
  if (!(gradient.shape() == spec.shape)) {
    fail(Code::kShapeMismatch, "", "%s is %s, expected %s", what, ShapeText(gradient.shape()).text,
         ShapeText(spec.shape).text);
  }
  const DType dtype = gradient.dtype();
  if (!has_gradients(dtype)) {
    fail(Code::kDtypeMismatch, "", "%s is %s, expected %s or another of f64, f32, f16 and bf16", what, name_of(dtype),
         name_of(spec.dtype));
  }
  if (&gradient.device() != spec.device)
    fail(Code::kDevice, "", "%s is on another device than what it belongs to", what);
  return dtype == spec.dtype ? gradient.detach() : converted(gradient, spec.dtype);
}

}  // namespace halftone
