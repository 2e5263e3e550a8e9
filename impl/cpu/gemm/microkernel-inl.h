// The FP32 microkernel: computes one tile of c with all sums in registers. Included once per instruction set by
// gemm.cpp; pure functions, any thread.
#if defined(HALFTONE_GEMM_MICROKERNEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_GEMM_MICROKERNEL_INL_H_
#undef HALFTONE_GEMM_MICROKERNEL_INL_H_
#else
#define HALFTONE_GEMM_MICROKERNEL_INL_H_
#endif

#include <cstdint>
#include <utility>

#include "cpu/gemm/tile.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVector = hn::Vec<FloatTag>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(FloatTag()));
// Registers: 28 sums, 2 vectors of b and 1 broadcast of a use 31 of AVX-512's 32; 12 + 2 + 1 use 15 of AVX2's 16.
constexpr int kTileRows = kLanes == 16 ? 14 : 6;
constexpr int kTileVectors = 2;
constexpr int kTileColumns = kTileVectors * kLanes;

// Rows of b are prefetched this far ahead: about the latency of L3.
constexpr int kRowsAhead = 16;

// Row r of a is addressed as pointer r / 3 plus 0, 1 or 2 times the row stride, which x86 addressing does for free: 14
// rows need 5 pointers, not 14.
template <int kRows, int kVectors>
HWY_NOINLINE void multiply_tile(const TileArgs& args) {
  constexpr int kPointers = (kRows + 2) / 3;
  const FloatTag d;
  const int64_t row_stride = args.a_row_stride;
  const float* a[kPointers];
  FloatVector sum[kRows][kVectors];
#pragma GCC unroll 14
  for (int r = 0; r < kRows; ++r) {
    if (r % 3 == 0) a[r / 3] = args.a + r * row_stride;
    hwy::Prefetch(args.c + r * args.c_row_stride);
    hwy::Prefetch(args.c + r * args.c_row_stride + (kVectors - 1) * kLanes);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  }
  const float* b = args.b;
  for (int64_t p = args.depth; p != 0; --p) {
    FloatVector b_row[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      b_row[v] = hn::LoadU(d, b + v * kLanes);
      hwy::Prefetch(b + kRowsAhead * args.b_depth_stride + v * kLanes);
    }
    b += args.b_depth_stride;
#pragma GCC unroll 14
    for (int r = 0; r < kRows; ++r) {
      const FloatVector a_value = hn::Set(d, a[r / 3][(r % 3) * row_stride]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(a_value, b_row[v], sum[r][v]);
    }
#pragma GCC unroll 5
    for (int i = 0; i < kPointers; ++i) a[i] += args.a_depth_stride;
  }
#pragma GCC unroll 14
  for (int r = 0; r < kRows; ++r) {
    float* c = args.c + r * args.c_row_stride;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const FloatVector old = args.add ? hn::LoadU(d, c + v * kLanes) : hn::Zero(d);
      hn::StoreU(hn::Add(old, sum[r][v]), d, c + v * kLanes);
    }
  }
}

template <int kVectors, int... kRow>
TileFunction tile_function_of(int rows, std::integer_sequence<int, kRow...>) {
  static constexpr TileFunction kFunctions[] = {multiply_tile<kRow + 1, kVectors>...};
  return kFunctions[rows - 1];
}

// The microkernel for a tile of `rows` (1 to kTileRows) by `columns` (1 to kTileColumns). It computes whole vectors.
inline TileFunction tile_function(int rows, int columns) noexcept {
  constexpr auto kAllRows = std::make_integer_sequence<int, kTileRows>();
  return columns > kLanes ? tile_function_of<kTileVectors>(rows, kAllRows) : tile_function_of<1>(rows, kAllRows);
}

}  // namespace HWY_NAMESPACE
}  // namespace halftone::cpu
HWY_AFTER_NAMESPACE();

#endif
