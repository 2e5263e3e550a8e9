// Which calls of attention run on tensor cores, and their launches. A block has four warps; each keeps 16 rows, or two
// times 16, of a result: of the output and of grad_q a row is a query, of grad_k and grad_v a key. The block goes over
// the other side by tiles of `columns`. Pure functions, safe from any thread.
#pragma once

#include <cstddef>

#include "backend/kernels/attention.h"
#include "core/host_device.h"

namespace halftone::cuda {

inline constexpr int kTensorWarps = 4;
inline constexpr int kTensorThreads = 32 * kTensorWarps;

enum class TensorPass { kForward, kGradQ, kGradKeys };

// Names a kernel: rows have `depth` elements, 64 or 128. With a mask or dropout each score takes more registers.
struct TensorKernel {
  TensorPass pass;
  int depth;
  bool is_masked;
};

struct TensorTiles {
  int blocks;   // of 16 rows for each warp
  int columns;  // of a tile; a multiple of 16
};

// The registers of a warp decide: sums of 16 * blocks * depth / 32 floats for each lane (twice as many in
// kGradKeys) and as many scores as the tile has, once or twice. 255 registers are there. More rows for each load of
// the other side are quicker.
HALFTONE_HOST_DEVICE constexpr TensorTiles tensor_tiles(TensorKernel kernel) {
  if (kernel.is_masked) return {1, kernel.pass == TensorPass::kForward ? 64 : 32};
  const bool is_wide = kernel.depth > 64;
  if (kernel.pass == TensorPass::kForward) return {2, 64};
  if (kernel.pass == TensorPass::kGradQ) return {2, is_wide ? 32 : 64};
  return {is_wide ? 1 : 2, is_wide ? 64 : 32};
}

HALFTONE_HOST_DEVICE constexpr int tensor_rows(TensorKernel kernel) {
  return 16 * kTensorWarps * tensor_tiles(kernel).blocks;
}

// Operands of the rows, and two stages of those of the columns. In kGradKeys a stage has the log sum and the product
// D of each query, too.
HALFTONE_HOST_DEVICE constexpr size_t tensor_shared_bytes(TensorKernel kernel) {
  const int of_rows = kernel.pass == TensorPass::kForward ? 1 : 2;
  const size_t row = static_cast<size_t>(kernel.depth) * 2;
  const size_t numbers = kernel.pass == TensorPass::kGradKeys ? 2 * sizeof(float) : 0;
  return of_rows * tensor_rows(kernel) * row + 2 * tensor_tiles(kernel).columns * (2 * row + numbers);
}

// The depth of the kernel that takes these arguments: 64 or 128, and shorter rows are filled up with zeros; 0 if no
// kernel does. Cases: q, k and v have one dtype of 16 bits; the scale is positive, so that it can be folded into the
// exponential; rows are dense and every one begins at a multiple of 16 bytes.
int tensor_depth(const AttentionArgs& args, size_t shared_memory) noexcept;
// True if a kernel on tensor cores can write or read this result, given `dtype` of the operands. Null data are fine.
bool is_tensor_view(const View& view, DType dtype) noexcept;

// Blocks of a launch for `rows` rows of each of `heads` heads.
constexpr int64_t tensor_blocks(TensorKernel kernel, int64_t rows, int64_t heads) {
  const int64_t tile = tensor_rows(kernel);
  return (rows + tile - 1) / tile * heads;
}

}  // namespace halftone::cuda
