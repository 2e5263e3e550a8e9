// The floating-point modes that our arithmetic is proven under: round to nearest, subnormals kept, exceptions masked. A
// host may have set others; they are put aside for the length of a call. Threads started meanwhile inherit ours.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace halftone {

class FloatEnvironment {
 public:
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

#if defined(__x86_64__)
  FloatEnvironment() noexcept : saved_(_mm_getcsr()) {
    if ((saved_ & ~kFlags) != kDefault) [[unlikely]] _mm_setcsr(kDefault);
  }
  ~FloatEnvironment() {
    if ((saved_ & ~kFlags) != kDefault) [[unlikely]] _mm_setcsr(saved_);
  }

 private:
  static constexpr uint32_t kFlags = 0x3f;      // sticky exception flags: whatever they are
  static constexpr uint32_t kDefault = 0x1f80;  // all exceptions masked, nearest, no FTZ, no DAZ
  uint32_t saved_;
#elif defined(__aarch64__)
  FloatEnvironment() noexcept {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    if (saved_ != 0) asm volatile("msr fpcr, %0" : : "r"(uint64_t{0}));
  }
  ~FloatEnvironment() {
    if (saved_ != 0) asm volatile("msr fpcr, %0" : : "r"(saved_));
  }

 private:
  uint64_t saved_;
#endif
};

}  // namespace halftone
