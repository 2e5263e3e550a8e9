// Ranges of flat buffers.
#pragma once

#include "tensor/tensor.h"

namespace halftone::parallel {

// Elements [begin, end) of a 1-D tensor.
inline Tensor range_of(const Tensor& flat, int64_t begin, int64_t end) {
  return flat.as_strided({end - begin}, {1}, flat.offset() + begin);
}

}  // namespace halftone::parallel
