// Reads and writes split weights (formula/split_master.h) tile by tile. For kernel files that Highway compiles once per
// instruction set: include after hwy/highway.h.
#if defined(HALFTONE_CPU_OPTIM_SPLIT_TILES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_OPTIM_SPLIT_TILES_H
#undef HALFTONE_CPU_OPTIM_SPLIT_TILES_H
#else
#define HALFTONE_CPU_OPTIM_SPLIT_TILES_H
#endif

#include <cstdint>

#include "backend/formula/split_master.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

HWY_INLINE void join_tile(const uint16_t* HWY_RESTRICT high, const int16_t* HWY_RESTRICT remainder, int64_t count,
                          float* HWY_RESTRICT tile) {
  for (int64_t i = 0; i < count; ++i) tile[i] = join_split(high[i], remainder[i]);
}

HWY_INLINE void split_tile(const float* HWY_RESTRICT tile, int64_t count, uint16_t* HWY_RESTRICT high,
                           int16_t* HWY_RESTRICT remainder) {
  for (int64_t i = 0; i < count; ++i) {
    high[i] = split_high(tile[i]);
    remainder[i] = split_remainder(tile[i]);
  }
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_OPTIM_SPLIT_TILES_H
