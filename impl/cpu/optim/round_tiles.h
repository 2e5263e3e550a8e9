// Tiles of FP32 rounded stochastically to 16 bits: weights without a master, and BF16 moments. For kernel files that
// Highway compiles once per instruction set: include after hwy/highway.h.
#if defined(HALFTONE_CPU_OPTIM_ROUND_TILES_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_OPTIM_ROUND_TILES_H
#undef HALFTONE_CPU_OPTIM_ROUND_TILES_H
#else
#define HALFTONE_CPU_OPTIM_ROUND_TILES_H
#endif

#include <cstdint>

#include "backend/formula/stochastic_rounding.h"
#include "core/dtype.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

// out[i] = tile[i] by words[i] (formula/stochastic_rounding.h). REQUIRES: dtype is bf16 or f16.
HWY_INLINE void round_tile(const float* HWY_RESTRICT tile, int64_t count, const uint16_t* HWY_RESTRICT words,
                           DType dtype, uint16_t* HWY_RESTRICT out) {
  if (dtype == DType::kBF16) {
    for (int64_t i = 0; i < count; ++i) out[i] = round_to_bf16(tile[i], words[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = round_to_f16(tile[i], words[i]);
  }
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_OPTIM_ROUND_TILES_H
