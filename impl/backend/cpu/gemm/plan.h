// How one FP32-accumulating matrix product is cut: a pure function of shapes, strides and dtypes, never of the number
// of threads, so that results do not depend on it either.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/kernels/gemm.h"

namespace halftone::cpu {

// The part of c that one call of an instruction set's microkernel computes, and its vectors' width.
struct TileShape {
  int64_t rows;
  int64_t columns;
  int64_t lanes;
};

// The algorithm, outermost loop first. b is taken in slabs of columns; a slab is packed by all threads into panels of
// one tile's width. Then c's part under the slab is cut into chunks. A chunk belongs to one thread, which goes through
// k in blocks of `depth`: it packs its rows of a, and multiplies every panel of b (which then stays in L1 or L2) with
// every row of tiles (all of which stay in L2). Sums of unfinished tiles wait in c itself where they may, else in the
// worker's scratch.
struct GemmPlan {
  int64_t word_elements;  // elements of k that share a word of a packed operand: 2 for dot products, else 1
  int64_t total_depth;    // k, in words
  int64_t depth;          // of a block of k, in words
  int64_t slab_columns;   // a multiple of the tile's
  int64_t chunk_rows;     // likewise
  int64_t chunk_columns;  // likewise
  bool packs_a;           // else the microkernel reads a where it lies
  bool packs_b;           // else only a last, narrower panel is packed
  bool is_small;          // everything stays on the caller's thread

  // In words, multiples of a cache line.
  size_t slab_size;      // packed b, shared
  size_t packed_a_size;  // per worker
  size_t scratch_size;   // per worker
};

// More than one element a word is for operands of 16 bits.
GemmPlan plan_gemm(const GemmArgs& args, const TileShape& tile, int64_t word_elements) noexcept;

// The distance of packed rows of a: a whole number of cache lines, and for the usual depths no power of two, so that
// the rows of a tile do not meet in the same sets of L1.
constexpr int64_t padded_depth(int64_t depth) { return (depth + 15) / 16 * 16 + 16; }

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

}  // namespace halftone::cpu
