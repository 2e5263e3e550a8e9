// Autocast: a table of what each operation does with 16-bit and 32-bit floats while a scope of this thread asks for it.
// f64 and integers are never touched. Parameters are only read: no cast enters the graph for them.
#pragma once

#include <array>
#include <atomic>
#include <tuple>

#include "autograd/scope.h"
#include "core/dtype.h"
#include "core/ref.h"
#include "ops/op.h"
#include "tensor/tensor.h"

namespace halftone {

class AutocastPolicy final : public RefCounted {
 public:
  // The default table; `dtype` is what kLow casts to. f32 makes a policy that leaves everything as it is.
  explicit AutocastPolicy(DType dtype);

  DType dtype() const noexcept { return dtype_; }
  AutocastClass get(Op op) const noexcept { return table_[static_cast<int>(op)]; }
  // REQUIRES: is_computing(op)
  void set(Op op, AutocastClass autocast_class) noexcept { table_[static_cast<int>(op)] = autocast_class; }

  // What casts under this policy wrote: of parameters without a current copy, and of other tensors. From any thread.
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

// An operand in another float dtype: a parameter's own copy, else a recorded cast. What it writes counts for the
// thread's policy, where there is one.
Tensor autocast_read(const Tensor& tensor, DType dtype);

// The dtype that `op` wants its operands in under the current policy, given the widest of them; `own` where it wants
// none.
DType autocast_operand_dtype(Op op, DType own, DType widest);

// What autocast may change: f32, f16 and bf16. Only these count where the widest is asked for, so that an f64 scalar
// widens nothing.
constexpr bool is_cast_by_autocast(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

// Runs `function` with its tensors cast as the policy says for `op`, itself outside autocast:
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
  scope().autocast = nullptr;
  return std::apply(function, operands);
}

// For operations of one float input whose kernels read one dtype and write another: the input and the result's dtype.
struct AutocastUnary {
  Tensor input;
  DType result;
};
AutocastUnary autocast_unary(Op op, const Tensor& input);

}  // namespace halftone
