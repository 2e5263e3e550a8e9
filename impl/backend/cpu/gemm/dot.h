// The dot product of BF16 pairs, x86's VDPBF16PS, as a microkernel like microkernel-inl.h's and as chains that measure
// its rate. Only dot.cpp knows the instruction. Pure functions, any thread.
#pragma once

#include <cstdint>

#include "backend/cpu/gemm/tile.h"

namespace halftone::cpu {

// Numerics: each 32-bit lane of the sum takes the two products of a pair one after the other, each rounded to nearest
// even in FP32, in any rounding mode. BF16 subnormals count as zero and sums below 2^-126 become zero; NaN, infinity
// and 0 * infinity are as IEEE has them. So the error of k products is at most k eps times the sum of |a| |b|, as with
// FP32, plus k 2^-126 max(1, |a|, |b|) twice.
constexpr int kDotTileRows = 14;
constexpr int kDotLanes = 16;
// Elements of k in a word.
constexpr int kDotElements = 2;

// The CPU has the instruction. All functions below need that.
bool has_dot() noexcept;

// As tile_function of microkernel-inl.h: `rows` is 1 to kDotTileRows, `columns` 1 to 2 kDotLanes.
TileFunction dot_tile_function(int rows, int columns) noexcept;

// Register-only chains of `iterations` times as many independent FMAs or dot products, for timing. `seed` is a value
// the compiler does not know; the result is to be used. A dot product counts for two multiply-adds of each lane.
constexpr int kChains = 16;
float chain_fmas(int64_t iterations, float seed) noexcept;
float chain_dots(int64_t iterations, float seed) noexcept;

}  // namespace halftone::cpu
