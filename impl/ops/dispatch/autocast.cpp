#include "ops/dispatch/autocast.h"

#include "autograd/parameter.h"
#include "autograd/weights/weights.h"
#include "ops/dispatch/cast.h"

namespace halftone {

AutocastPolicy::AutocastPolicy(DType dtype) : dtype_(dtype) {
  // A policy of f32 casts nothing: a program can switch mixed precision off by its policy.
  for (int i = 0; i < kOpCount; ++i) {
    table_[i] = dtype == DType::kF32 ? AutocastClass::kAsIs : default_autocast_class(static_cast<Op>(i));
  }
}

Tensor autocast_read(const Tensor& tensor, DType dtype) {
  if (dtype == tensor.dtype()) return tensor;
  const int64_t bytes = tensor.numel() * static_cast<int64_t>(size_of(dtype));
  // For a program that asks which casts its steps pay for.
  const auto count = [&](std::atomic<int64_t> AutocastPolicy::CastBytes::*kind) {
    if (under_autocast()) (scope().autocast->cast_bytes().*kind).fetch_add(bytes, std::memory_order_relaxed);
  };
  if (const Ref<Parameter> parameter = parameter_of(tensor)) {
    if (!parameter->weights().keeps(dtype)) count(&AutocastPolicy::CastBytes::parameters);
    return parameter->leaf_in(dtype);
  }
  count(&AutocastPolicy::CastBytes::tensors);
  const Tensor made = ops::cast(tensor, dtype);
  // An operation may keep it for backward.
  if (scope().grad_enabled) made.storage()->set_category(Category::kActivations);
  return made;
}

DType autocast_operand_dtype(Op op, DType own, DType widest) {
  if (!under_autocast() || !is_cast_by_autocast(own)) return own;
  switch (scope().autocast->get(op)) {
    case AutocastClass::kLow:
      return scope().autocast->dtype();
    case AutocastClass::kFp32:
      return DType::kF32;
    case AutocastClass::kWidest:
      return widest;
    case AutocastClass::kAsIs:
      return own;
  }
  return own;
}

const Recipe* recipe_in_force(Op op, DType dtype) noexcept {
  if (!under_autocast() || !is_cast_by_autocast(dtype)) return nullptr;
  const AutocastPolicy& policy = *scope().autocast;
  if (policy.get(op) != AutocastClass::kLow) return nullptr;
  return scope().recipe != nullptr ? scope().recipe->recipe.get() : policy.recipe();
}

void autocast_changed(Op op, std::span<const Tensor* const> given, std::span<Tensor> cast) {
  DType widest = DType::kF16;
  bool any = false;
  for (const Tensor* tensor : given) {
    if (!tensor->defined() || !is_cast_by_autocast(tensor->dtype())) continue;
    widest = any ? promote(widest, tensor->dtype()) : tensor->dtype();
    any = true;
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i]->defined()) continue;
    const DType dtype = autocast_operand_dtype(op, given[i]->dtype(), widest);
    if (dtype != given[i]->dtype()) cast[i] = autocast_read(*given[i], dtype);
  }
}

AutocastUnary autocast_unary(Op op, const Tensor& input) {
  const DType dtype = autocast_operand_dtype(op, input.dtype(), input.dtype());
  // A wider result needs no cast of the input: the kernel widens while it reads.
  if (size_of(dtype) >= size_of(input.dtype())) return {.input = input, .result = dtype};
  return {.input = autocast_read(input, dtype), .result = dtype};
}

}  // namespace halftone
