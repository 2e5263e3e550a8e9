// The dot product of BF16 pairs (x86's VDPBF16PS): a microkernel like that of microkernel-inl.h, and chains that
// measure its rate. Only dot.cpp knows the instruction. Pure functions, any thread.
#pragma once

#include <cstdint>

#include "cpu/gemm/tile.h"

namespace halftone::cpu {

// Numerics: each 32-bit lane of the sum adds the two products of a pair one after the other, each rounded to nearest
// even in FP32, whatever the rounding mode. BF16 subnormals count as zero and sums below 2^-126 become zero; NaN,
// infinity and 0 * infinity follow IEEE. So the error of k products is at most k eps times the sum of |a| |b|, as with
// FP32, plus 2 k 2^-126 max(1, |a|, |b|).
constexpr int kDotTileRows = 14;
constexpr int kDotLanes = 16;
// Elements of k per word.
constexpr int kDotElements = 2;

// True if the CPU has the instruction, and the build has the kernels for AVX-512 that lead here. All functions below
// require it.
bool has_dot() noexcept;

// As tile_function of microkernel-inl.h: `rows` is 1 to kDotTileRows, `columns` is 1 to 2 * kDotLanes.
TileFunction dot_tile_function(int rows, int columns) noexcept;

// For timing: kChains independent register-only chains of `iterations` FMAs or dot products each. `seed` is a value
// unknown to the compiler, and callers use the result, so that nothing is optimised away. A dot product does two
// multiply-adds per lane.
constexpr int kChains = 16;
float chain_fmas(int64_t iterations, float seed) noexcept;
float chain_dots(int64_t iterations, float seed) noexcept;

}  // namespace halftone::cpu
