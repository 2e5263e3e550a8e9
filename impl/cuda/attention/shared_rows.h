// How rows of 16-bit elements lie in shared memory: in chunks of 16 bytes, chunk c of row r at place c xor (r % 8) of
// its row. So eight rows of one chunk, which ldmatrix reads at a time, lie in all 32 banks once, and so do the chunks
// that eight neighbouring threads copy. Pure arithmetic, on both sides.
#pragma once

#include <cstdint>

#include "core/host_device.h"

namespace halftone::cuda {

inline constexpr int kChunk = 8;  // elements
inline constexpr int kChunkBytes = 16;

// The offset in bytes of a chunk of rows of `depth` elements. REQUIRES: depth is a multiple of 64.
HALFTONE_HOST_DEVICE constexpr uint32_t chunk_offset(int depth, int row, int chunk) {
  return static_cast<uint32_t>(row * depth * 2 + (chunk ^ (row & 7)) * kChunkBytes);
}

// The address `chunks` chunks after that of chunk 0 or 1 of some row. REQUIRES: an even number, and rows that begin at
// a multiple of 128 bytes: then the bits of the exchanged chunks are bits of the address, and only one has to be
// computed.
HALFTONE_HOST_DEVICE constexpr uint32_t chunks_after(uint32_t address, int chunks) {
  return (address ^ static_cast<uint32_t>(chunks % 8 * kChunkBytes)) +
         static_cast<uint32_t>(chunks / 8 * 8 * kChunkBytes);
}

HALFTONE_HOST_DEVICE constexpr uint32_t rows_bytes(int depth, int rows) {
  return static_cast<uint32_t>(rows * depth * 2);
}

// Lane l gives ldmatrix the address of row l % 8 of matrix l / 8. The four matrices are the quarters of 16 rows and two
// chunks. For the left operand, and for a right operand whose rows run along the sum (transposed), the second matrix is
// the lower left quarter; for a right operand whose rows are columns of the result it is the upper right one.
struct LaneRow {
  int row, chunk;
};
HALFTONE_HOST_DEVICE constexpr LaneRow lane_row_by_rows(int lane) { return {lane % 16, lane / 16}; }
HALFTONE_HOST_DEVICE constexpr LaneRow lane_row_by_chunks(int lane) { return {lane % 8 + lane / 16 * 8, lane / 8 % 2}; }

}  // namespace halftone::cuda
