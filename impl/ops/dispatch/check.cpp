#include "ops/dispatch/check.h"

#include <cmath>

#include "core/error.h"
#include "ops/dispatch/record.h"

namespace halftone {

void require_float(const Tensor& tensor, const char* argument) {
  if (!is_arithmetic_float(tensor.dtype())) {
    fail(Code::kDtypeMismatch, argument, "%s is %s, expected f64, f32, f16 or bf16", argument, name_of(tensor.dtype()));
  }
}

void require_arithmetic(const Tensor& tensor, const char* argument) {
  if (is_float(tensor.dtype()) && !is_arithmetic_float(tensor.dtype())) {
    fail(Code::kDtypeMismatch, argument, "%s is %s, a storage format; cast it first", argument,
         name_of(tensor.dtype()));
  }
}

void require_whole(double number, const char* argument, DType dtype) {
  // 2^63 is the first double that no i64 holds.
  if (std::trunc(number) != number || std::fabs(number) >= 0x1p63) {
    fail(Code::kInvalidArgument, argument, "%s=%g, expected a whole number within 64 bits for %s; cast the tensor",
         argument, number, name_of(dtype));
  }
}

void require_same_dtype(const Tensor& a, const char* a_name, const Tensor& b, const char* b_name) {
  if (a.dtype() != b.dtype()) {
    fail(Code::kDtypeMismatch, b_name,
         "%s is %s and %s is %s; expected one dtype: cast one, or compute in an autocast scope", a_name,
         name_of(a.dtype()), b_name, name_of(b.dtype()));
  }
}

void require_same_device(const Tensor& a, const char* a_name, const Tensor& b, const char* b_name) {
  if (&a.device() == &b.device()) return;
  // Two contexts have a device of one name each, but share no memory.
  const bool same_context = a.device().context == b.device().context;
  fail(Code::kDevice, b_name, "%s is on %s and %s on %s%s", a_name, a.device().device->name(), b_name,
       b.device().device->name(), same_context ? "" : " of another context");
}

void require_classification(const Tensor& logits, const Tensor& targets) {
  require_float(logits, "logits");
  require_classes(targets);
  require_same_device(logits, "logits", targets, "targets");
  if (logits.rank() != 2) {
    fail(Code::kShapeMismatch, "logits", "logits %s has %d dimensions, expected 2", ShapeText(logits.shape()).text,
         logits.rank());
  }
  if (targets.rank() != 1 || targets.size(0) != logits.size(0)) {
    fail(Code::kShapeMismatch, "targets", "targets %s does not fit logits %s", ShapeText(targets.shape()).text,
         ShapeText(logits.shape()).text);
  }
}

void require_classes(const Tensor& targets) {
  if (targets.dtype() == DType::kI64 || targets.dtype() == DType::kI32) return;
  fail(Code::kDtypeMismatch, "targets", "targets is %s, expected i64 or i32", name_of(targets.dtype()));
}

void require_constant(const Tensor& tensor, const char* argument) {
  const Tensor* const inputs[] = {&tensor};
  if (!should_record(inputs)) return;
  fail(Code::kUnsupported, argument, "%s requires a gradient, but gets none here; pass its htone_tensor_detach",
       argument);
}

}  // namespace halftone
