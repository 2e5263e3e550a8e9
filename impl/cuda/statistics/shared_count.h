// A count that threads add to in any order. For .cu files.
#pragma once

#include <cstdint>

#include "cuda/base/device_code.h"

namespace halftone::cuda {

HALFTONE_DEVICE inline void add_shared(int64_t& shared, unsigned value) {
  if (value != 0) atomicAdd(reinterpret_cast<unsigned long long*>(&shared), static_cast<unsigned long long>(value));
}

}  // namespace halftone::cuda
