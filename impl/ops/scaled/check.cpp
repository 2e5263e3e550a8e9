#include "ops/scaled/check.h"

#include "autograd/leaf/accumulate_grad.h"
#include "core/error.h"
#include "ops/dispatch/check.h"

namespace halftone {

void require_float8(DType dtype, const char* argument) {
  if (is_float8(dtype)) return;
  fail(Code::kInvalidArgument, argument, "%s=%s, expected f8e4m3 or f8e5m2", argument, name_of(dtype));
}

void require_scale(const Tensor& like, const char* like_name, const Tensor& scale, const char* argument) {
  if (scale.dtype() != DType::kF32) {
    fail(Code::kDtypeMismatch, argument, "%s is %s, expected f32", argument, name_of(scale.dtype()));
  }
  if (scale.numel() != 1) {
    fail(Code::kShapeMismatch, argument, "%s %s has %lld elements, expected 1", argument, ShapeText(scale.shape()).text,
         static_cast<long long>(scale.numel()));
  }
  require_same_device(like, like_name, scale, argument);
}

void require_written_scale(const Tensor& like, const char* like_name, const Tensor& scale, const char* argument) {
  if (!scale.defined()) return;
  require_scale(like, like_name, scale, argument);
  require_writable(scale, argument);
}

void require_apart(const Tensor& amax, const Tensor& scale, const char* scale_name) {
  if (!amax.defined() || !scale.defined() || amax.data() != scale.data()) return;
  fail(Code::kInvalidArgument, "amax", "amax is the memory of %s, which is read while amax is written", scale_name);
}

}  // namespace halftone
