// The modes in which cuBLASLt multiplies codes with scales of blocks, and the order in which it takes the scales. Pure.
#pragma once

#include "backend/geometry/gemm_operands.h"
#include "core/host_device.h"

namespace halftone::cuda {

// Must match cublasLtMatmulMatrixScale_t of CUDA 12.9. GPUs from 9.0 on have kOuterVector, the scale of a whole line;
// those of 9.0 have the modes of 128, and those from 10.0 on the others.
enum class ScaleMode : int32_t {
  kTensor = 0,
  kVector16 = 1,
  kVector32 = 2,
  kOuterVector = 3,
  kVector128 = 4,
  kBlock128 = 5
};

// The mode for an operand whose lines run across `line_dim`; kTensor if there is none.
inline ScaleMode scale_mode_of(const View& codes, const BlockScales& scales, int line_dim) noexcept {
  if (scales.data == nullptr) return ScaleMode::kTensor;
  const int64_t lines = line_dim == 0 ? scales.rows : scales.columns;
  const int64_t depth = line_dim == 0 ? scales.columns : scales.rows;
  const bool is_e2m1 = codes.dtype == DType::kU8;
  if (scales.format == ScaleFormat::kE4M3) return is_e2m1 && depth == 16 ? ScaleMode::kVector16 : ScaleMode::kTensor;
  if (is_e2m1) return ScaleMode::kTensor;
  if (scales.format == ScaleFormat::kE8M0) return depth == 32 ? ScaleMode::kVector32 : ScaleMode::kTensor;
  if (depth != 128 || (lines != 1 && lines != 128)) return ScaleMode::kTensor;
  return lines == 1 ? ScaleMode::kVector128 : ScaleMode::kBlock128;
}

// An operand's scales, and their places in the order of cuBLASLt, which has room for more than there are.
struct ScaleOrder {
  ScaleMode mode = ScaleMode::kTensor;
  const void* from = nullptr;
  int64_t lines = 0;      // of scales: a line of codes has one, or 128 lines share one
  int64_t blocks = 0;     // of the depth
  int64_t shared_by = 1;  // lines that read the same scale
  int64_t line_stride = 0;
  int64_t block_stride = 0;

  HALFTONE_HOST_DEVICE static int64_t padded(int64_t count, int64_t unit) { return (count + unit - 1) / unit * unit; }
  HALFTONE_HOST_DEVICE bool has_bytes() const { return mode < ScaleMode::kVector128; }
  HALFTONE_HOST_DEVICE int64_t padded_lines() const {
    if (mode == ScaleMode::kBlock128) return lines;
    return padded(lines, mode == ScaleMode::kVector128 ? 4 : 128);
  }
  HALFTONE_HOST_DEVICE int64_t padded_blocks() const {
    return mode == ScaleMode::kVector128 ? blocks : padded(blocks, 4);
  }
  HALFTONE_HOST_DEVICE int64_t source(int64_t line, int64_t block) const {
    return line / shared_by * line_stride + block * block_stride;
  }
  // Scales of 128 follow each other along lines, or along the depth for blocks of 128 x 128. Bytes lie in tiles of 128
  // lines by 4 blocks, one after the other along the depth; lines 32 apart are neighbours.
  HALFTONE_HOST_DEVICE int64_t place(int64_t line, int64_t block) const {
    if (mode == ScaleMode::kVector128) return block * padded_lines() + line;
    if (mode == ScaleMode::kBlock128) return line * padded_blocks() + block;
    const int64_t tile = line / 128 * (padded_blocks() / 4) + block / 4;
    return tile * 512 + line % 32 * 16 + line % 128 / 32 * 4 + block % 4;
  }
  size_t bytes() const {
    return static_cast<size_t>(padded_lines() * padded_blocks()) * (has_bytes() ? 1 : sizeof(float));
  }
};

inline ScaleOrder scale_order(const View& codes, const BlockScales& scales, int line_dim) noexcept {
  ScaleOrder order = {.mode = scale_mode_of(codes, scales, line_dim), .from = scales.data};
  if (order.mode == ScaleMode::kTensor) return order;
  const int64_t block_lines = line_dim == 0 ? scales.rows : scales.columns;
  const int64_t block_depth = line_dim == 0 ? scales.columns : scales.rows;
  const bool is_square = order.mode == ScaleMode::kBlock128;
  order.lines = (codes.shape[line_dim] + (is_square ? 127 : 0)) / (is_square ? 128 : 1);
  order.blocks = (codes.shape[1 - line_dim] + block_depth - 1) / block_depth;
  order.shared_by = is_square ? 1 : block_lines;
  order.line_stride = scales.strides[line_dim];
  order.block_stride = scales.strides[1 - line_dim];
  return order;
}

// True if cuBLASLt multiplies operands of these modes.
constexpr bool go_together(ScaleMode a, ScaleMode b) {
  if (a == ScaleMode::kTensor || b == ScaleMode::kTensor) return false;
  const bool is_mixture = a >= ScaleMode::kVector128 && b >= ScaleMode::kVector128;
  return is_mixture ? a == ScaleMode::kVector128 || b == ScaleMode::kVector128 : a == b;
}

}  // namespace halftone::cuda
