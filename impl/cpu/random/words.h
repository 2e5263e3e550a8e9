// Words of a Philox sequence for many elements at once. For kernel files that Highway compiles once per instruction
// set: include after hwy/highway.h.
#if defined(HALFTONE_CPU_RANDOM_WORDS_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_CPU_RANDOM_WORDS_H
#undef HALFTONE_CPU_RANDOM_WORDS_H
#else
#define HALFTONE_CPU_RANDOM_WORDS_H
#endif

#include <cstring>

#include "cpu/optim/rounding_words.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::cpu::HWY_NAMESPACE {

// draw_block gives 16-bit words; two make one word here.
inline constexpr int64_t kWordBlock = kBlockSize / 2;

// Draws the words of elements [begin, begin + count), up to the end of the last block. REQUIRES: begin % kWordBlock ==
// 0.
inline void draw_words(PhiloxKey key, int64_t begin, int64_t count, uint32_t* HWY_RESTRICT words) {
  HWY_ALIGN uint16_t halves[kBlockSize];
  for (int64_t i = 0; i < count; i += kWordBlock) {
    draw_block(key, (begin + i) / kWordBlock, halves);
    std::memcpy(words + i, halves, sizeof halves);
  }
}

}  // namespace halftone::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_CPU_RANDOM_WORDS_H
