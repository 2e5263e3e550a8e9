// Reads a gradient tile by tile as FP32, and sums the squares of tiles. For kernel files that Highway compiles once per
// instruction set: include after hwy/highway.h.
#if defined(HALFTONE_CPU_OPTIM_GRADIENT_TILES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_OPTIM_GRADIENT_TILES_H
#undef HALFTONE_CPU_OPTIM_GRADIENT_TILES_H
#else
#define HALFTONE_CPU_OPTIM_GRADIENT_TILES_H
#endif

#include <algorithm>
#include <cstddef>

#include "backend/chunks.h"
#include "cpu/rows/pairwise.h"
#include "cpu/simd/tiles.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

// Contiguous memory from element `begin` on.
inline Strided contiguous_from(const void* data, DType dtype, int64_t begin) {
  auto* bytes = static_cast<std::byte*>(const_cast<void*>(data));
  return {bytes + begin * static_cast<int64_t>(size_of(dtype)), dtype, 1};
}

// Calls f(tile, begin, count) for the blocks of a chunk. An FP32 gradient is its own tile. Whole blocks get their own
// call, so that the compiler knows the loop length where it inlines f.
template <class F>
HWY_INLINE void for_each_gradient_tile(const void* grad, DType dtype, const Chunk& chunk, F&& f) {
  alignas(64) float widened[kBlockSize];
  for (int64_t begin = chunk.begin; begin < chunk.end; begin += kBlockSize) {
    const int64_t count = std::min(kBlockSize, chunk.end - begin);
    const Strided elements = contiguous_from(grad, dtype, begin);
    if (dtype != DType::kF32) load_tile(elements, count, widened);
    const float* tile = dtype == DType::kF32 ? reinterpret_cast<const float*>(elements.data) : widened;
    count == kBlockSize ? f(tile, begin, kBlockSize) : f(tile, begin, count);
  }
}

// In double, where squares of FP32 are exact and neither overflow (1e20) nor underflow (1e-30). The sum is infinite or
// NaN exactly if an element is not finite, so it is the finite check of gradients as well. REQUIRES: count > 0.
inline double sum_of_squares(const float* HWY_RESTRICT tile, int64_t count) {
  return sum_of_block<double>(count, [tile](int64_t i) {
    const double element = tile[i];
    return element * element;
  });
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_OPTIM_GRADIENT_TILES_H
