// Kernels that change the size of images.
// kernels.h gives the rules for every entry.
#pragma once

#include "backend/device.h"
#include "backend/formula/grid_reads.h"
#include "backend/view.h"

namespace halftone {

// kNearest copies elements. kLinear weighs the two neighbours along each dimension, kCubic four (formula/cubic.h).
enum class ResampleMode : int32_t { kNearest, kLinear, kCubic };

// Position p of `count` along a dimension of `size` elements is at
//   nearest: floor(p * size / count), exactly
//   linear: (p + 1/2) * size / count - 1/2, at least 0
//   linear with aligned corners: p * (size - 1) / (count - 1), 0 if count is 1
// and the neighbours of a place are its floor and the next element, if there is one.
struct ResampleArgs {
  View input;   // [n, c, h, w]
  View output;  // [n, c, oh, ow], contiguous
  ResampleMode mode = ResampleMode::kNearest;
  bool aligns_corners = false;
};

// formula/grid_reads.h gives the elements that a place of the grid reads. A grid has two or three coordinates, along
// the width, the height and the depth; the depth is 1 if there are two.
struct GridSampleArgs {
  View input;   // [n, c, d, h, w]
  View grid;    // [n, od, oh, ow, coordinates]
  View output;  // [n, c, od, oh, ow], contiguous
  GridRule rule;
};

// Input and output have one dtype: f64, f32, f16 or bf16. Places are exact, products are FP32 (f64: double). n and c
// may be 0, the other sizes may not. Backward reads the output's gradient from output and writes the input's gradient
// to input, contiguous f32 (for f64 output: f64); it adds in the order of the output's elements.
struct ResampleKernels {
  Status (*forward)(Stream&, const ResampleArgs& args) noexcept;
  Status (*backward)(Stream&, const ResampleArgs& args) noexcept;
  // The grid has the dtype of input and output. Weights are double, products and sums FP32 (f64: double), channel by
  // channel for the grid's gradient. Sizes but those of the input's elements may be 0. Gradients are read and written
  // as above; that of the grid is contiguous and has the grid's dtype.
  Status (*grid_sample)(Stream&, const GridSampleArgs& args) noexcept;
  Status (*grid_sample_backward)(Stream&, const GridSampleArgs& args) noexcept;
  Status (*grid_backward)(Stream&, const GridSampleArgs& args, const View& grad_grid) noexcept;
};

// All entries (backend/kernels/entry.h).
#define HALFTONE_RESAMPLE_ENTRIES(X)       \
  X(ResampleKernels, forward)              \
  X(ResampleKernels, backward)             \
  X(ResampleKernels, grid_sample)          \
  X(ResampleKernels, grid_sample_backward) \
  X(ResampleKernels, grid_backward)

}  // namespace halftone
