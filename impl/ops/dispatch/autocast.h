// Autocast: a table that gives, for each operation, the dtype for its 16-bit and 32-bit float operands while this
// thread is in an autocast scope. f64 and integers are never cast. A parameter is read, not cast, so no cast node
// enters the graph for it.
#pragma once

#include <array>
#include <atomic>
#include <tuple>

#include "autograd/scope.h"
#include "core/dtype.h"
#include "core/ref.h"
#include "ops/dispatch/op.h"
#include "tensor/tensor.h"

namespace halftone {

class AutocastPolicy final : public RefCounted {
 public:
  // The default table; kLow casts to `dtype`. With f32 the policy changes nothing.
  explicit AutocastPolicy(DType dtype);

  DType dtype() const noexcept { return dtype_; }
  AutocastClass get(Op op) const noexcept { return table_[static_cast<int>(op)]; }
  // REQUIRES: is_computing(op)
  void set(Op op, AutocastClass autocast_class) noexcept { table_[static_cast<int>(op)] = autocast_class; }

  // Bytes that casts under this policy wrote: for parameters without a current copy, and for other tensors. Any thread.
  struct CastBytes {
    std::atomic<int64_t> parameters{0};
    std::atomic<int64_t> tensors{0};
  };
  CastBytes& cast_bytes() const noexcept { return cast_bytes_; }

 private:
  DType dtype_;
  std::array<AutocastClass, kOpCount> table_;
  mutable CastBytes cast_bytes_;
};

inline bool under_autocast() noexcept { return scope().autocast != nullptr; }

// The tensor in another float dtype: a parameter's own copy, else a recorded cast. The bytes written count for the
// thread's policy, if there is one.
Tensor autocast_read(const Tensor& tensor, DType dtype);

// The dtype of `op`'s operands under the current policy; `own` if the policy does not cast. `widest` is the widest
// dtype among the operands.
DType autocast_operand_dtype(Op op, DType own, DType widest);

// Autocast may change f32, f16 and bf16. kWidest considers only these, so an f64 scalar widens nothing.
constexpr bool is_cast_by_autocast(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

// Casts the tensors as the policy says for `op` and runs `function` outside autocast:
//   if (under_autocast()) return autocast(Op::kMatmul, matmul, a, b);
template <class Function, class... Tensors>
Tensor autocast(Op op, const Function& function, const Tensors&... tensors) {
  DType widest = DType::kF16;
  bool any = false;
  const auto widen = [&](const Tensor& tensor) {
    if (!tensor.defined() || !is_cast_by_autocast(tensor.dtype())) return;
    widest = any ? promote(widest, tensor.dtype()) : tensor.dtype();
    any = true;
  };
  (widen(tensors), ...);
  const auto operand = [&](const Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    return autocast_read(tensor, autocast_operand_dtype(op, tensor.dtype(), widest));
  };
  const std::tuple operands(operand(tensors)...);
  ScopeGuard guard;
  // Otherwise `function` would come back here.
  scope().autocast = nullptr;
  return std::apply(function, operands);
}

// The input and the result's dtype, for an operation with one float input whose kernel can read one dtype and write
// another.
struct AutocastUnary {
  Tensor input;
  DType result;
};
AutocastUnary autocast_unary(Op op, const Tensor& input);

}  // namespace halftone
