#include "cpu/gemm/tf32.h"

#include "core/number/tf32.h"

namespace halftone::cpu {

void round_words_to_tf32(float* words, int64_t count) noexcept {
  for (int64_t i = 0; i < count; ++i) words[i] = round_to_tf32(words[i]);
}

}  // namespace halftone::cpu
