// Elements of any dtype in device memory, read and written as a compute type: double, float or int64_t. Conversions
// round once to nearest even, as on the CPU; the tests compare them over all inputs. Device code.
#pragma once

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#include "core/conversion.h"
#include "core/dtype.h"
#include "core/number/bfloat16.h"
#include "core/number/float16.h"
#include "core/number/float8.h"
#include "core/type_list.h"
#include "cuda/base/device_code.h"

namespace halftone::cuda {

// The compute type of a dtype: f64 is computed in double, every other float in FP32, integers and bool in int64. Calls
// f.operator()<C>() and returns its result. Host code.
template <class F>
auto with_compute_type(DType dtype, F&& f) {
  if (dtype == DType::kF64) return f.template operator()<double>();
  if (is_float(dtype)) return f.template operator()<float>();
  return f.template operator()<int64_t>();
}
// Float dtypes alone, so that no integer kernels are made.
template <class F>
auto with_float_type(DType dtype, F&& f) {
  if (dtype == DType::kF64) return f.template operator()<double>();
  return f.template operator()<float>();
}

// An element of type T as the compute type C. Narrowing f64 to float rounds to nearest even.
template <class C, class T>
HALFTONE_DEVICE inline C widen(T value) {
  if constexpr (std::is_class_v<T>) {
    return convert_number<C>(static_cast<float>(value));
  } else {
    return convert_number<C>(value);
  }
}

// The compute type's value as an element of type T. The GPU's own instructions round FP32 to nearest even, keep
// subnormals, and turn a NaN into one NaN, where the CPU keeps the payload.
template <class T, class C>
HALFTONE_DEVICE inline T narrow(C value) {
  if constexpr (!std::is_class_v<T>) {
    return convert_number<T>(value);
  } else if constexpr (!std::is_same_v<C, float>) {
    return narrow<T>(round_to_odd(value));
  } else {
#ifdef __CUDA_ARCH__
    if constexpr (std::is_same_v<T, Float16>) return {__half_as_ushort(__float2half_rn(value))};
    if constexpr (std::is_same_v<T, BFloat16>) return {__bfloat16_as_ushort(__float2bfloat16_rn(value))};
#endif
    return T::from(value);
  }
}

// Calls f.operator()<T>() for the type of a dtype. The branch is the same for all threads of a launch.
template <class F>
HALFTONE_DEVICE inline void visit_element_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF64:
      return f.template operator()<double>();
    case DType::kF32:
      return f.template operator()<float>();
    case DType::kF16:
      return f.template operator()<Float16>();
    case DType::kBF16:
      return f.template operator()<BFloat16>();
    case DType::kF8E4M3:
      return f.template operator()<Float8E4M3>();
    case DType::kF8E5M2:
      return f.template operator()<Float8E5M2>();
    case DType::kI64:
      return f.template operator()<int64_t>();
    case DType::kI32:
      return f.template operator()<int32_t>();
    case DType::kI16:
      return f.template operator()<int16_t>();
    case DType::kI8:
      return f.template operator()<int8_t>();
    case DType::kU8:
      return f.template operator()<uint8_t>();
    case DType::kBool:
      return f.template operator()<bool>();
  }
}

// Memory of one dtype.
struct Elements {
  void* data = nullptr;
  DType dtype = DType::kF32;
};

template <class C>
HALFTONE_DEVICE inline C load(const Elements& from, int64_t i) {
  C value{};
  visit_element_type(from.dtype, [&]<class T>() { value = widen<C>(static_cast<const T*>(from.data)[i]); });
  return value;
}

template <class C>
HALFTONE_DEVICE inline void store(const Elements& to, int64_t i, C value) {
  visit_element_type(to.dtype, [&]<class T>() { static_cast<T*>(to.data)[i] = narrow<T>(value); });
}

// Elements that one thread moves at a time where memory is dense: 16 bytes of a 16-bit type, 32 of FP32.
inline constexpr int kTile = 8;

// The bytes that one instruction moves: 16, or the 8 of a tile of bytes.
template <size_t bytes>
struct __attribute__((may_alias, aligned(bytes))) Pack {
  uint32_t words[bytes / 4];
};

// A tile of T in registers, and the packs that move it.
template <class T>
union TileBuffer {
  static constexpr size_t kPackBytes = sizeof(T) * kTile < 16 ? sizeof(T) * kTile : 16;
  static constexpr int kPacks = static_cast<int>(sizeof(T) * kTile / kPackBytes);

  HALFTONE_DEVICE TileBuffer() {}
  Pack<kPackBytes> packs[kPacks];
  T elements[kTile];
};

// As load_tile and store_tile below, for memory of type T.
template <class T, class C>
HALFTONE_DEVICE inline void load_tile_of(const void* data, int64_t i, C (&tile)[kTile]) {
  using Buffer = TileBuffer<T>;
  Buffer buffer;
  const auto* packs = reinterpret_cast<const Pack<Buffer::kPackBytes>*>(static_cast<const T*>(data) + i);
#pragma unroll
  for (int p = 0; p < Buffer::kPacks; ++p) buffer.packs[p] = packs[p];
#pragma unroll
  for (int k = 0; k < kTile; ++k) tile[k] = widen<C>(buffer.elements[k]);
}
template <class T, class C>
HALFTONE_DEVICE inline void store_tile_of(void* data, int64_t i, const C (&tile)[kTile]) {
  using Buffer = TileBuffer<T>;
  Buffer buffer;
#pragma unroll
  for (int k = 0; k < kTile; ++k) buffer.elements[k] = narrow<T>(tile[k]);
  auto* packs = reinterpret_cast<Pack<Buffer::kPackBytes>*>(static_cast<T*>(data) + i);
#pragma unroll
  for (int p = 0; p < Buffer::kPacks; ++p) packs[p] = buffer.packs[p];
}

// Elements [i, i + kTile). REQUIRES: i is a multiple of kTile, and the data are aligned to 16 bytes.
template <class C>
HALFTONE_DEVICE inline void load_tile(const Elements& from, int64_t i, C (&tile)[kTile]) {
  visit_element_type(from.dtype, [&]<class T>() { load_tile_of<T>(from.data, i, tile); });
}

// Elements [i, i + kTile), as load_tile.
template <class C>
HALFTONE_DEVICE inline void store_tile(const Elements& to, int64_t i, const C (&tile)[kTile]) {
  visit_element_type(to.dtype, [&]<class T>() { store_tile_of<T>(to.data, i, tile); });
}

// Calls f.operator()<T>() for the dtypes of training that the compute type serves: f64, or f32, f16 and bf16. Returns
// false for others. Kernels with many tiles have code for these alone.
template <class C, class F>
HALFTONE_DEVICE inline bool visit_trained_type(DType dtype, F&& f) {
  if constexpr (std::is_same_v<C, double>) {
    if (dtype != DType::kF64) return false;
    f.template operator()<double>();
  } else {
    if (dtype != DType::kF32 && dtype != DType::kF16 && dtype != DType::kBF16) return false;
    if (dtype == DType::kF32) f.template operator()<float>();
    if (dtype == DType::kF16) f.template operator()<Float16>();
    if (dtype == DType::kBF16) f.template operator()<BFloat16>();
  }
  return true;
}

}  // namespace halftone::cuda
