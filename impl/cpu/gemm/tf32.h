// Packed operands rounded to TF32. Any thread.
#pragma once

#include <cstdint>

namespace halftone::cpu {

// The words are in a cache, where packing has just written them. Words that packing left out may hold any value.
void round_words_to_tf32(float* words, int64_t count) noexcept;

}  // namespace halftone::cpu
