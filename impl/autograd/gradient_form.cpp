#include "autograd/gradient_form.h"

#include "core/error.h"
#include "tensor/factory.h"

namespace halftone {

Tensor fitted(const Tensor& gradient, const GradientForm& form, const char* what) {
  if (!(gradient.shape() == form.shape)) {
    fail(Code::kShapeMismatch, "", "%s is %s, expected %s", what, ShapeText(gradient.shape()).text,
         ShapeText(form.shape).text);
  }
  const DType dtype = gradient.dtype();
  if (!has_gradients(dtype)) {
    fail(Code::kDtypeMismatch, "", "%s is %s, expected %s or another of f64, f32, f16 and bf16", what, name_of(dtype),
         name_of(form.dtype));
  }
  if (&gradient.device() != form.device)
    fail(Code::kDevice, "", "%s is on another device than what it belongs to", what);
  return dtype == form.dtype ? gradient.detach() : converted(gradient, form.dtype);
}

}  // namespace halftone
