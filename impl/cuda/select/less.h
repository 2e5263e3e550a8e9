// The order of elements: NaN counts as the largest, and -0 equals 0. Device code.
#pragma once

#include "cuda/base/device_code.h"

namespace halftone::cuda {

template <class C>
HALFTONE_DEVICE inline bool is_less(C a, C b) {
  return a < b || (b != b && a == a);
}

}  // namespace halftone::cuda
