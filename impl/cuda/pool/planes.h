// Planes of images [n, c, h, w] with any strides, for kernels with one thread for each element. Device code.
#pragma once

#include "backend/view.h"
#include "cuda/base/element.h"

namespace halftone::cuda {

struct Planes {
  Elements elements;
  int64_t channels = 1;
  int64_t height = 1;
  int64_t width = 1;
  int64_t strides[4] = {};
};

inline Planes planes_of(const View& view) {
  Planes planes = {
      .elements = {view.data, view.dtype}, .channels = view.shape[1], .height = view.shape[2], .width = view.shape[3]};
  for (int d = 0; d < 4; ++d) planes.strides[d] = view.strides[d];
  return planes;
}

// An element's plane, counted over n and c, and its place there. Elements are counted in row-major order.
struct PlanePlace {
  int64_t plane;
  int64_t y;
  int64_t x;
};
HALFTONE_DEVICE inline PlanePlace place_in_plane(const Planes& planes, int64_t i) {
  const int64_t row = i / planes.width;
  return {row / planes.height, row % planes.height, i % planes.width};
}

// The offset of a plane's first element.
HALFTONE_DEVICE inline int64_t plane_offset(const Planes& planes, int64_t plane) {
  return plane / planes.channels * planes.strides[0] + plane % planes.channels * planes.strides[1];
}

}  // namespace halftone::cuda
