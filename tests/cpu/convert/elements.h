// Reads and writes the elements of a tensor as bit patterns, and computes the correct result of a cast. Used from one
// thread.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "host_tensor.h"
#include "nearest_code.h"

namespace halftone {

inline std::byte* element_address(const HostTensor& tensor, int64_t i) {
  const View& view = tensor.view();
  int64_t offset = 0;
  for (int d = view.rank() - 1; d >= 0; --d) {
    offset += i % view.shape[d] * view.strides[d];
    i /= view.shape[d];
  }
  return static_cast<std::byte*>(view.data) + offset * static_cast<int64_t>(size_of(view.dtype));
}

inline uint64_t get_bits(const HostTensor& tensor, int64_t i) {
  uint64_t bits = 0;
  std::memcpy(&bits, element_address(tensor, i), size_of(tensor.view().dtype));
  return bits;
}

inline void set_bits(const HostTensor& tensor, int64_t i, uint64_t bits) {
  std::memcpy(element_address(tensor, i), &bits, size_of(tensor.view().dtype));
}

// All bit patterns are equally likely, so NaN, infinities and subnormals occur. Half of the f64 and i64 values are in
// the range of the narrower types, so that conversions do more than overflow.
inline void fill_bits(const HostTensor& tensor, uint64_t seed) {
  std::mt19937_64 generator(seed);
  const DType dtype = tensor.view().dtype;
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    uint64_t bits = generator();
    if (dtype == DType::kBool) bits &= 1;
    if (dtype == DType::kI64 && bits % 2 == 0)
      bits = static_cast<uint64_t>(static_cast<int64_t>(bits) >> (bits >> 1) % 64);
    if (dtype == DType::kF64 && bits % 2 == 0) {
      const double value = std::ldexp(1 + static_cast<double>(bits >> 12) * 0x1p-52, static_cast<int>(bits >> 1) % 170);
      std::memcpy(&bits, &value, sizeof bits);
    }
    set_bits(tensor, i, bits);
  }
}

// The value of one element; long double holds every dtype exactly.
inline long double exact_value(DType dtype, uint64_t bits) {
  long double value = 0;
  try_visit_dtype(AllTypes{}, dtype, [&]<class T>() {
    T element;
    std::memcpy(&element, &bits, sizeof element);
    if constexpr (std::is_arithmetic_v<T>) {
      value = element;
    } else {
      value = static_cast<float>(element);
    }
  });
  return value;
}

template <class I>
uint64_t integer_bits(DType from, long double value) {
  I result = 0;
  if (is_float(from)) {
    const long double lowest = static_cast<long double>(std::numeric_limits<I>::min());
    const long double highest = static_cast<long double>(std::numeric_limits<I>::max());
    if (!std::isnan(value)) result = static_cast<I>(std::fmin(std::fmax(std::trunc(value), lowest), highest));
  } else {
    result = static_cast<I>(static_cast<int64_t>(value));  // wraps
  }
  uint64_t bits = 0;
  std::memcpy(&bits, &result, sizeof result);
  return bits;
}

template <class F>
uint64_t float_bits(long double value) {
  const F rounded = static_cast<F>(value);
  uint64_t bits = 0;
  std::memcpy(&bits, &rounded, sizeof rounded);
  return bits;
}

// One reference per small format; they are cached because building the tables takes long.
inline NearestCode& nearest_code(DType dtype) {
  static NearestCode references[] = {NearestCode(DType::kF16), NearestCode(DType::kBF16), NearestCode(DType::kF8E4M3),
                                     NearestCode(DType::kF8E5M2)};
  return references[static_cast<int>(dtype) - static_cast<int>(DType::kF16)];
}

// REQUIRES: no NaN into a float format, because the format chooses the bits of a NaN.
inline uint64_t cast_bits(DType from, DType to, uint64_t bits) {
  if (from == to) return bits;
  const long double value = exact_value(from, bits);
  switch (to) {
    case DType::kF64:
      return float_bits<double>(value);
    case DType::kF32:
      return float_bits<float>(value);
    case DType::kF16:
    case DType::kBF16:
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      return nearest_code(to).of(value);
    case DType::kI64:
      return integer_bits<int64_t>(from, value);
    case DType::kI32:
      return integer_bits<int32_t>(from, value);
    case DType::kI16:
      return integer_bits<int16_t>(from, value);
    case DType::kI8:
      return integer_bits<int8_t>(from, value);
    case DType::kU8:
      return integer_bits<uint8_t>(from, value);
    case DType::kBool:
      return value != 0 ? 1 : 0;
  }
  return 0;
}

}  // namespace halftone
