// A tensor as kernels see it: plain data that crosses the plugin seam. Borrowed: the caller of a kernel keeps the
// memory alive until the stream has run the kernel.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "core/shape.h"

namespace halftone {

struct View {
  void* data = nullptr;
  DType dtype = DType::kF32;
  Shape shape;
  Shape strides;  // in elements; 0 repeats one element (broadcast)

  int rank() const { return shape.rank(); }
  int64_t numel() const { return halftone::numel(shape); }
};

inline bool is_contiguous(const View& view) { return is_contiguous(view.shape, view.strides); }

// kWrite replaces the output's elements, kAdd adds to them.
enum class Store : int32_t { kWrite, kAdd };

}  // namespace halftone
