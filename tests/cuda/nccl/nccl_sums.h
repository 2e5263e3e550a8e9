// The arithmetic of the emulated NCCL: ranks are added from the last to the first, and each sum is rounded to the
// dtype, unlike the tree of halftone. One header for the emulation alone. Pure functions.
#pragma once

#include <nccl.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "core/number/bfloat16.h"
#include "core/number/float16.h"

namespace emulation {

template <class T>
T combined(ncclRedOp_t op, T a, T b) {
  using Wide = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
  const Wide wide_a = static_cast<Wide>(a), wide_b = static_cast<Wide>(b);
  Wide result = wide_a;
  if (op == ncclMin) {
    result = std::min(wide_a, wide_b);
  } else if (op == ncclMax) {
    result = std::max(wide_a, wide_b);
  } else if constexpr (std::is_integral_v<Wide>) {
    result = static_cast<Wide>(static_cast<uint64_t>(wide_a) + static_cast<uint64_t>(wide_b));
  } else {
    result = wide_a + wide_b;
  }
  if constexpr (requires { T::from(result); }) {
    return T::from(result);
  } else {
    return result;
  }
}

template <class T>
void reduce_as(const std::vector<const void*>& inputs, size_t count, ncclRedOp_t op, void* out) {
  auto* target = static_cast<T*>(out);
  for (size_t i = 0; i < count; ++i) {
    T value = static_cast<const T*>(inputs.back())[i];
    for (size_t rank = inputs.size() - 1; rank > 0; --rank) {
      value = combined(op, value, static_cast<const T*>(inputs[rank - 1])[i]);
    }
    if constexpr (requires { T::from(1.0f); }) {
      if (op == ncclAvg) value = T::from(static_cast<float>(value) / static_cast<float>(inputs.size()));
    } else {
      if (op == ncclAvg) value /= static_cast<T>(inputs.size());
    }
    target[i] = value;
  }
}

inline void reduce_in_turn(const std::vector<const void*>& inputs, size_t count, ncclDataType_t dtype, ncclRedOp_t op,
                           void* out) {
  switch (dtype) {
    case ncclInt8:
      return reduce_as<int8_t>(inputs, count, op, out);
    case ncclUint8:
      return reduce_as<uint8_t>(inputs, count, op, out);
    case ncclInt32:
      return reduce_as<int32_t>(inputs, count, op, out);
    case ncclInt64:
      return reduce_as<int64_t>(inputs, count, op, out);
    case ncclFloat16:
      return reduce_as<halftone::Float16>(inputs, count, op, out);
    case ncclBfloat16:
      return reduce_as<halftone::BFloat16>(inputs, count, op, out);
    case ncclFloat32:
      return reduce_as<float>(inputs, count, op, out);
    case ncclFloat64:
      return reduce_as<double>(inputs, count, op, out);
  }
}

}  // namespace emulation
