// Dispatch from a run-time dtype to a compile-time type: a type list and a templated lambda,
//   if (!try_visit_dtype(FloatTypes{}, dtype, [&]<class T>() { ... })) ...
#pragma once

#include "core/dtype.h"
#include "core/number/bfloat16.h"
#include "core/number/float16.h"
#include "core/number/float8.h"

namespace halftone {

template <class... Types>
struct TypeList {};

using FloatTypes = TypeList<double, float, Float16, BFloat16>;
using Float8Types = TypeList<Float8E4M3, Float8E5M2>;
using IntegerTypes = TypeList<int64_t, int32_t, int16_t, int8_t, uint8_t, bool>;
using AllTypes = TypeList<double, float, Float16, BFloat16, Float8E4M3, Float8E5M2, int64_t, int32_t, int16_t, int8_t,
                          uint8_t, bool>;

template <class T>
inline constexpr DType dtype_of = DType{};
template <>
inline constexpr DType dtype_of<double> = DType::kF64;
template <>
inline constexpr DType dtype_of<float> = DType::kF32;
template <>
inline constexpr DType dtype_of<Float16> = DType::kF16;
template <>
inline constexpr DType dtype_of<BFloat16> = DType::kBF16;
template <>
inline constexpr DType dtype_of<Float8E4M3> = DType::kF8E4M3;
template <>
inline constexpr DType dtype_of<Float8E5M2> = DType::kF8E5M2;
template <>
inline constexpr DType dtype_of<int64_t> = DType::kI64;
template <>
inline constexpr DType dtype_of<int32_t> = DType::kI32;
template <>
inline constexpr DType dtype_of<int16_t> = DType::kI16;
template <>
inline constexpr DType dtype_of<int8_t> = DType::kI8;
template <>
inline constexpr DType dtype_of<uint8_t> = DType::kU8;
template <>
inline constexpr DType dtype_of<bool> = DType::kBool;

// Calls visitor.operator()<T>() for the type T in the list that `dtype` names. Returns false if the list has none.
template <class... Types, class Visitor>
bool try_visit_dtype(TypeList<Types...>, DType dtype, Visitor&& visitor) {
  return ((dtype == dtype_of<Types> ? (visitor.template operator()<Types>(), true) : false) || ...);
}

}  // namespace halftone
