// A reduction's result as a view that is repeated to the shape of its input. Used by backward kernels that compute
// element by element; safe from any thread.
#pragma once

#include "backend/view.h"

namespace halftone {

// REQUIRES: `view` has the rank of `shape`, and size 1 where the sizes differ.
inline View repeated(const View& view, const Shape& shape) noexcept {
  View result = view;
  result.shape = shape;
  for (int i = 0; i < shape.rank(); ++i) {
    if (view.shape[i] != shape[i]) result.strides[i] = 0;
  }
  return result;
}

}  // namespace halftone
