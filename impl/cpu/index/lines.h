// A contiguous tensor as [outer, size, inner] around one dimension.
#pragma once

#include "backend/view.h"

namespace halftone::cpu {

struct Lines {
  Lines(const View& view, int dim) : size(view.shape[dim]) {
    for (int i = 0; i < dim; ++i) outer *= view.shape[i];
    for (int i = dim + 1; i < view.rank(); ++i) inner *= view.shape[i];
  }
  int64_t outer = 1;
  int64_t size;
  int64_t inner = 1;
};

}  // namespace halftone::cpu
