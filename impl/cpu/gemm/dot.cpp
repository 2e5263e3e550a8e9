#include "cpu/gemm/dot.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <cstring>
#include <utility>

#include "hwy/detect_targets.h"

namespace halftone::cpu {
namespace {

// Highway 1.0.3 has no VDPBF16PS, so these functions name their instruction sets themselves.

// Rows of b are prefetched this far ahead, as in microkernel-inl.h.
constexpr int kRowsAhead = 16;

[[gnu::target("avx512f,avx512bf16")]] inline __m512bh load_pairs(const float* words) {
  return reinterpret_cast<__m512bh>(_mm512_loadu_si512(words));
}

[[gnu::target("avx512f,avx512bf16")]] inline __m512bh broadcast_pair(const float* word) {
  int32_t bits;
  std::memcpy(&bits, word, sizeof bits);
  return reinterpret_cast<__m512bh>(_mm512_set1_epi32(bits));
}

// Must match multiply_tile of microkernel-inl.h; here one word of depth holds two elements of k.
template <int kRows, int kVectors>
[[gnu::target("avx512f,avx512bf16"), gnu::noinline]] void multiply_tile(const TileArgs& args) {
  constexpr int kPointers = (kRows + 2) / 3;
  const int64_t row_stride = args.a_row_stride;
  const float* a[kPointers];
  __m512 sum[kRows][kVectors];
#pragma GCC unroll 14
  for (int r = 0; r < kRows; ++r) {
    if (r % 3 == 0) a[r / 3] = args.a + r * row_stride;
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      _mm_prefetch(reinterpret_cast<const char*>(args.c + r * args.c_row_stride + v * kDotLanes), _MM_HINT_T0);
      sum[r][v] = _mm512_setzero_ps();
    }
  }
  const float* b = args.b;
  for (int64_t p = args.depth; p != 0; --p) {
    __m512bh b_row[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      b_row[v] = load_pairs(b + v * kDotLanes);
      _mm_prefetch(reinterpret_cast<const char*>(b + kRowsAhead * args.b_depth_stride + v * kDotLanes), _MM_HINT_T0);
    }
    b += args.b_depth_stride;
#pragma GCC unroll 14
    for (int r = 0; r < kRows; ++r) {
      const __m512bh a_pair = broadcast_pair(a[r / 3] + (r % 3) * row_stride);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_dpbf16_ps(sum[r][v], a_pair, b_row[v]);
    }
#pragma GCC unroll 5
    for (int i = 0; i < kPointers; ++i) a[i] += args.a_depth_stride;
  }
#pragma GCC unroll 14
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      float* c = args.c + r * args.c_row_stride + v * kDotLanes;
      const __m512 old = args.add ? _mm512_loadu_ps(c) : _mm512_setzero_ps();
      _mm512_storeu_ps(c, _mm512_add_ps(old, sum[r][v]));
    }
  }
}

template <int kVectors, int... kRow>
TileFunction tile_function_of(int rows, std::integer_sequence<int, kRow...>) {
  static constexpr TileFunction kFunctions[] = {multiply_tile<kRow + 1, kVectors>...};
  return kFunctions[rows - 1];
}

}  // namespace

bool has_dot() noexcept { return (HWY_TARGETS & HWY_AVX3) != 0 && __builtin_cpu_supports("avx512bf16") != 0; }

TileFunction dot_tile_function(int rows, int columns) noexcept {
  constexpr auto kAllRows = std::make_integer_sequence<int, kDotTileRows>();
  return columns > kDotLanes ? tile_function_of<2>(rows, kAllRows) : tile_function_of<1>(rows, kAllRows);
}

[[gnu::target("avx512f,avx512bf16")]] float chain_fmas(int64_t iterations, float seed) noexcept {
  const __m512 factor = _mm512_set1_ps(seed);
  __m512 sums[kChains];
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  for (int64_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) sums[i] = _mm512_fmadd_ps(sums[i], factor, factor);
  }
#pragma GCC unroll 16
  for (int i = 1; i < kChains; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
  return _mm512_cvtss_f32(sums[0]);
}

[[gnu::target("avx512f,avx512bf16")]] float chain_dots(int64_t iterations, float seed) noexcept {
  const __m512bh factor = broadcast_pair(&seed);
  __m512 sums[kChains];
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  for (int64_t n = 0; n < iterations; ++n) {
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) sums[i] = _mm512_dpbf16_ps(sums[i], factor, factor);
  }
#pragma GCC unroll 16
  for (int i = 1; i < kChains; ++i) sums[0] = _mm512_add_ps(sums[0], sums[i]);
  return _mm512_cvtss_f32(sums[0]);
}

}  // namespace halftone::cpu

#else

namespace halftone::cpu {

bool has_dot() noexcept { return false; }
TileFunction dot_tile_function(int, int) noexcept { return nullptr; }
float chain_fmas(int64_t, float) noexcept { return 0; }
float chain_dots(int64_t, float) noexcept { return 0; }

}  // namespace halftone::cpu

#endif
