// A reduction's result as a view that is repeated to the shape of its input, for kernels that compute element by
// element. Pure function, safe from any thread.
#pragma once

#include "backend/view.h"

namespace halftone::cuda {

// REQUIRES: `view` has the rank of `shape`, and size 1 where the sizes differ.
inline View repeated(const View& view, const Shape& shape) noexcept {
  View result = view;
  for (int i = 0; i < shape.rank(); ++i) {
    if (view.shape[i] != shape[i]) result.strides[i] = 0;
  }
  result.shape = shape;
  return result;
}

}  // namespace halftone::cuda
