// A contiguous tensor as [outer, size, inner] around one dimension.
#pragma once

#include "backend/view.h"

namespace halftone::cuda {

struct Lines {
  int64_t outer = 1;
  int64_t size = 1;
  int64_t inner = 1;
};

inline Lines lines_of(const View& view, int dim) {
  Lines lines;
  lines.size = view.shape[dim];
  for (int i = 0; i < dim; ++i) lines.outer *= view.shape[i];
  for (int i = dim + 1; i < view.rank(); ++i) lines.inner *= view.shape[i];
  return lines;
}

}  // namespace halftone::cuda
