// Autocast: a table that gives, for each operation, the dtype for its 16-bit and 32-bit float operands while this
// thread is in an autocast scope. f64 and integers are never cast. A parameter is read, not cast, so no cast node
// enters the graph for it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include "autograd/scope.h"
#include "core/dtype.h"
#include "core/ref.h"
#include "ops/dispatch/op.h"
#include "ops/dispatch/recipe.h"
#include "tensor/tensor.h"

namespace halftone {

class AutocastPolicy final : public RefCounted {
 public:
  // The default table; kLow casts to `dtype`. With f32 the policy changes nothing.
  explicit AutocastPolicy(DType dtype);

  DType dtype() const noexcept { return dtype_; }
  AutocastClass get(Op op) const noexcept { return table_[static_cast<int>(op)]; }
  // REQUIRES: is_computing(op)
  void set(Op op, AutocastClass autocast_class) noexcept {
    table_[static_cast<int>(op)] = autocast_class;
    ++changes_;
  }
  // The codes in which linear layers of class kLow multiply; null: they multiply in dtype().
  const Recipe* recipe() const noexcept { return recipe_.get(); }
  void set_recipe(Ref<const Recipe> recipe) noexcept {
    recipe_ = std::move(recipe);
    ++changes_;
  }
  // Calls of set() and set_recipe() so far.
  uint64_t changes() const noexcept { return changes_; }

  // Bytes that casts under this policy wrote: for parameters without a current copy, and for other tensors. Any thread.
  struct CastBytes {
    std::atomic<int64_t> parameters{0};
    std::atomic<int64_t> tensors{0};
  };
  CastBytes& cast_bytes() const noexcept { return cast_bytes_; }

 private:
  DType dtype_;
  std::array<AutocastClass, kOpCount> table_;
  uint64_t changes_ = 0;
  Ref<const Recipe> recipe_;
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

// The recipe in force for an operation on operands of this dtype; null for none. Autocast does not change f64, and so
// no recipe does.
const Recipe* recipe_in_force(Op op, DType dtype) noexcept;

// For each given tensor whose dtype the current policy changes for `op`, the cast tensor; the others stay undefined.
void autocast_changed(Op op, std::span<const Tensor* const> given, std::span<Tensor> cast);

// The operands of one call of an operation: each as it was given, or cast. Refers to the given tensors.
template <size_t kCount>
class AutocastOperands {
 public:
  AutocastOperands(Op op, const std::array<const Tensor*, kCount>& given) : given_(given) {
    if (under_autocast()) autocast_changed(op, given_, cast_);
  }

  template <size_t kIndex>
  const Tensor& get() const noexcept {
    return cast_[kIndex].defined() ? cast_[kIndex] : *given_[kIndex];
  }

 private:
  std::array<const Tensor*, kCount> given_;
  std::array<Tensor, kCount> cast_;
};

// The first line of an operation with several operands. From there on it uses the operands that this returns:
//   const auto [x, y] = autocast_operands(Op::kMatmul, a, b);
// The policy stays in force, so the operation must not call operations that cast their own operands.
template <class... Tensors>
AutocastOperands<sizeof...(Tensors)> autocast_operands(Op op, const Tensors&... tensors) {
  return {op, {&tensors...}};
}

// The input and the result's dtype, for an operation with one float input whose kernel can read one dtype and write
// another.
struct AutocastUnary {
  Tensor input;
  DType result;
};
AutocastUnary autocast_unary(Op op, const Tensor& input);

}  // namespace halftone

// For structured bindings.
template <size_t kCount>
struct std::tuple_size<halftone::AutocastOperands<kCount>> : std::integral_constant<size_t, kCount> {};
template <size_t kIndex, size_t kCount>
struct std::tuple_element<kIndex, halftone::AutocastOperands<kCount>> {
  using type = const halftone::Tensor;
};
