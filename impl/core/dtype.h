// The element types. Values are the C API's (asserted in capi/src/base/dtype.cpp); 0 is never a dtype, so that a zeroed
// options field means "default".
#pragma once

#include <cstddef>
#include <cstdint>

namespace halftone {

enum class DType : int32_t {
  kF64 = 1,
  kF32 = 2,
  kF16 = 3,
  kBF16 = 4,
  kF8E4M3 = 5,  // e4m3fn: no infinities, largest finite 448
  kF8E5M2 = 6,
  kI64 = 7,
  kI32 = 8,
  kI16 = 9,
  kI8 = 10,
  kU8 = 11,
  kBool = 12,  // one byte, 0 or 1
};

inline constexpr int32_t kDTypeFirst = 1;
inline constexpr int32_t kDTypeLast = 12;

constexpr bool is_valid(DType dtype) {
  return static_cast<int32_t>(dtype) >= kDTypeFirst && static_cast<int32_t>(dtype) <= kDTypeLast;
}
constexpr bool is_float(DType dtype) { return dtype >= DType::kF64 && dtype <= DType::kF8E5M2; }
constexpr bool is_integer(DType dtype) { return dtype >= DType::kI64 && dtype <= DType::kU8; }

constexpr size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kF16:
    case DType::kBF16:
    case DType::kI16:
      return 2;
    case DType::kF8E4M3:
    case DType::kF8E5M2:
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return 1;
  }
  return 0;
}

// "f32", "bf16", ...; "invalid" outside the enumeration.
const char* name_of(DType dtype) noexcept;

// The common type of two operands of equal rank class, as torch.promote_types: the wider float wins over the narrower,
// f16 with bf16 gives f32, any float wins over any integer, u8 with a signed type gives the next wider signed type.
DType promote(DType a, DType b) noexcept;

}  // namespace halftone
