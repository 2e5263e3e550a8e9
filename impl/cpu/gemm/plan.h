// The plan of one FP32-accumulating matrix product: a pure function of shapes, strides and dtypes, never of the number
// of threads, so that results do not depend on it either.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/kernels/gemm.h"

namespace halftone::cpu {

// Rows of a chunk: at most 12 tiles of AVX-512 or 28 of AVX2; with the deepest block, half of a 1 MiB L2.
inline constexpr int64_t kMaxChunkRows = 168;

// The part of c that one microkernel call computes, and the vector width.
struct TileShape {
  int64_t rows;
  int64_t columns;
  int64_t lanes;
};

// The algorithm, outermost loop first. b is taken in slabs of columns; all threads pack a slab into panels of one
// tile's width. Then the part of c that belongs to the slab is cut into chunks. A chunk belongs to one thread, which
// goes through k in blocks of `depth`: it packs its rows of a and multiplies every panel of b (which then stays in L1
// or L2) with every row of tiles (which all stay in L2). Sums of unfinished tiles are kept in c itself if possible,
// else in the worker's scratch.
struct GemmPlan {
  int64_t word_elements;  // elements of k that share a word of a packed operand: 2 for dot products, else 1
  int64_t total_depth;    // k, in words
  int64_t depth;          // of a block, in words
  int64_t slab_columns;   // a multiple of the tile's columns
  int64_t chunk_rows;     // a multiple of the tile's rows
  int64_t chunk_columns;  // a multiple of the tile's columns
  bool packs_a;           // else the microkernel reads a in place
  bool packs_b;           // else only an incomplete last panel is packed
  bool is_small;          // run on the caller's thread alone
  bool rounds_to_tf32;    // both operands, while they are packed

  // In words; multiples of a cache line.
  size_t slab_size;      // packed b, shared
  size_t packed_a_size;  // per worker
  size_t scratch_size;   // per worker
};

// word_elements above 1 is for 16-bit operands.
GemmPlan plan_gemm(const GemmArgs& args, const TileShape& tile, int64_t word_elements) noexcept;

// The stride of packed rows of a: whole cache lines, and not a power of two for the usual depths, so that a tile's rows
// do not share the same sets of L1.
constexpr int64_t padded_depth(int64_t depth) { return (depth + 15) / 16 * 16 + 16; }

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

}  // namespace halftone::cpu
