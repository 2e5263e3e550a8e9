// Tiles: short rows of the compute type in L1, between which and memory of any dtype and stride these functions
// convert. Compiled once per instruction set (load_tile.cpp, store_tile.cpp); kernel files that Highway compiles per
// instruction set include this after hwy/highway.h and so call their own set's functions.
#if defined(HALFTONE_CPU_SIMD_TILES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_SIMD_TILES_H
#undef HALFTONE_CPU_SIMD_TILES_H
#else
#define HALFTONE_CPU_SIMD_TILES_H
#endif

#include <cstdint>

#include "cpu/simd/compute_type.h"
#include "cpu/simd/layout.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

// tile[i] = in[i] for i < count. Exact where the compute type holds the value; otherwise rounded once to nearest even,
// or, into int64, truncated and saturated. A stride of 0 repeats one element.
void load_tile(const Strided& in, int64_t count, float* tile);
void load_tile(const Strided& in, int64_t count, double* tile);
void load_tile(const Strided& in, int64_t count, int64_t* tile);

// Rows that begin `row_stride` elements apart.
struct RowBlock {
  Strided first;
  int64_t row_stride;
  int64_t rows;
  int64_t count;  // elements of a row
};

// load_tile for each row, into tiles `tile_stride` apart. One call for many short rows takes a fraction of the time.
void load_tiles(const RowBlock& in, int64_t tile_stride, float* tiles);
void load_tiles(const RowBlock& in, int64_t tile_stride, double* tiles);
void load_tiles(const RowBlock& in, int64_t tile_stride, int64_t* tiles);

// out[i] = tile[i] for i < count, rounded once to nearest even; integers are truncated and saturated from floats, and
// wrap from int64; bool is "is not zero".
void store_tile(const float* tile, int64_t count, const Strided& out);
void store_tile(const double* tile, int64_t count, const Strided& out);
void store_tile(const int64_t* tile, int64_t count, const Strided& out);

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_SIMD_TILES_H
