// Moves data between global and shared memory: copies of 16 and 4 bytes that run beside the computation (cp.async), and
// single loads and stores. Device code.
#pragma once

#include "cuda/attention/fragment.h"

namespace halftone::cuda {

#ifdef __CUDACC__

// The value, which the compiler takes for a new one at each call, so that it keeps nothing that depends on it.
HALFTONE_DEVICE inline int recomputed(int value) {
  asm volatile("" : "+r"(value));
  return value;
}

// 16 bytes to shared memory; zeros if they do not exist, and then nothing is read. Both addresses are aligned.
HALFTONE_DEVICE inline void copy_16_later(SharedAddress to, const void* from, bool exists) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(exists ? 16 : 0) : "memory");
}
HALFTONE_DEVICE inline void copy_4_later(SharedAddress to, const void* from, bool exists) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(exists ? 4 : 0) : "memory");
}
// Ends a group of this thread's copies.
HALFTONE_DEVICE inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits for all groups of this thread. Others see the bytes after a barrier.
HALFTONE_DEVICE inline void wait_for_copies() { asm volatile("cp.async.wait_group 0;" ::: "memory"); }

HALFTONE_DEVICE inline void store_shared(SharedAddress to, uint32_t word) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(word) : "memory");
}
HALFTONE_DEVICE inline uint4 load_shared_16(SharedAddress from) {
  uint4 words;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
               : "r"(from)
               : "memory");
  return words;
}
HALFTONE_DEVICE inline float2 load_shared_pair(SharedAddress from) {
  float2 pair;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(pair.x), "=f"(pair.y) : "r"(from) : "memory");
  return pair;
}

#else

inline int recomputed(int value) { return value; }

inline void copy_16_later(SharedAddress to, const void* from, bool exists) {
  emulation::copy_later(shared_bytes_at(to), exists ? from : nullptr, 16);
}
inline void copy_4_later(SharedAddress to, const void* from, bool exists) {
  emulation::copy_later(shared_bytes_at(to), exists ? from : nullptr, 4);
}
inline void commit_copies() { emulation::commit_copies(); }
inline void wait_for_copies() { emulation::wait_for_copies(0); }

inline void store_shared(SharedAddress to, uint32_t word) { std::memcpy(shared_bytes_at(to), &word, sizeof word); }
inline uint4 load_shared_16(SharedAddress from) {
  uint4 words;
  std::memcpy(&words, shared_bytes_at(from), sizeof words);
  return words;
}
inline float2 load_shared_pair(SharedAddress from) {
  float2 pair;
  std::memcpy(&pair, shared_bytes_at(from), sizeof pair);
  return pair;
}

#endif

}  // namespace halftone::cuda
