#include "ops/elementwise/in_place.h"

#include "core/error.h"
#include "ops/dispatch/broadcast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/in_place.h"
#include "ops/elementwise/binary.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

// As torch.can_cast: a kind (bool below integer below float) is never written into a lower one.
bool can_hold(DType target, DType result) {
  if (is_float(target)) return true;
  return target == DType::kBool ? result == DType::kBool : !is_float(result);
}

// The dtype that the operation is computed in. Throws DTYPE_MISMATCH if the target cannot hold the result.
DType result_in_place(const char* name, BinaryOp op, const Tensor& target, const Tensor& other) {
  const DType common = result_dtype(target, other);
  if (op == BinaryOp::kSubtract && common == DType::kBool) {
    fail(Code::kDtypeMismatch, "tensor", "tensor and other are bool; subtraction has no meaning for them");
  }
  const DType result = op == BinaryOp::kDivide && !is_float(common) ? DType::kF32 : common;
  if (!can_hold(target.dtype(), result)) {
    fail(Code::kDtypeMismatch, "tensor", "tensor is %s, which cannot hold the result of %s: %s",
         name_of(target.dtype()), name, name_of(result));
  }
  return result;
}

// A result of another dtype is computed beside the target and converted: a kernel computes in the type of its output,
// and that of f64 or of wider integers could be lost.
void apply_in_place(const char* name, BinaryOp op, const Tensor& target, const Tensor& other) {
  require_in_place(target, other, "other");
  require_same_device(target, "tensor", other, "other");
  require_arithmetic(target, "tensor");
  require_arithmetic(other, "other");
  const DType dtype = result_in_place(name, op, target, other);
  const Tensor operand = in_place_operand(target, other, "other");
  if (dtype != target.dtype()) return copy(apply_binary(name, op, target, operand, dtype), target);
  launch(name, target.device(), &Kernels::elementwise, &ElementwiseKernels::binary, op, target.view(), operand.view(),
         target.view());
  target.bump_version();
}

}  // namespace

void copy_from(const Tensor& target, const Tensor& source) {
  require_in_place(target, source, "source");
  copy(in_place_operand(target, moved_to(target.device(), source), "source"), target);
}

void add_in_place(const Tensor& target, const Tensor& other) { apply_in_place("add", BinaryOp::kAdd, target, other); }

void sub_in_place(const Tensor& target, const Tensor& other) {
  apply_in_place("sub", BinaryOp::kSubtract, target, other);
}

void mul_in_place(const Tensor& target, const Tensor& other) {
  apply_in_place("mul", BinaryOp::kMultiply, target, other);
}

void div_in_place(const Tensor& target, const Tensor& other) {
  apply_in_place("div", BinaryOp::kDivide, target, other);
}

}  // namespace halftone::ops
