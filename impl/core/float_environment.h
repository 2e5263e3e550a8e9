// Sets the floating-point modes that the library's arithmetic requires while the object lives: round to nearest,
// subnormals kept, exceptions masked. The destructor restores the caller's modes. Threads started meanwhile inherit
// ours.
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
  static constexpr uint32_t kFlags = 0x3f;      // sticky exception flags: left as they are
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

// Puts the modes back that were set when it was made, at the end of a block in which other code may change them. The
// library changes neither the rounding nor the exceptions of the x87, but fegetround reads them there: they are put
// back as well.
class FloatEnvironmentKeeper {
 public:
  FloatEnvironmentKeeper(const FloatEnvironmentKeeper&) = delete;
  FloatEnvironmentKeeper& operator=(const FloatEnvironmentKeeper&) = delete;

#if defined(__x86_64__)
  FloatEnvironmentKeeper() noexcept : vector_(_mm_getcsr()), x87_(x87_control()) {}
  ~FloatEnvironmentKeeper() {
    if (((_mm_getcsr() ^ vector_) & ~kFlags) != 0) [[unlikely]]
      _mm_setcsr(vector_);
    if (x87_control() != x87_) [[unlikely]] {
      asm volatile("fldcw %0" : : "m"(x87_));
    }
  }

 private:
  static constexpr uint32_t kFlags = 0x3f;
  static uint16_t x87_control() noexcept {
    uint16_t control = 0;
    asm volatile("fnstcw %0" : "=m"(control));
    return control;
  }
  uint32_t vector_;
  uint16_t x87_;
#elif defined(__aarch64__)
  FloatEnvironmentKeeper() noexcept : saved_(control()) {}
  ~FloatEnvironmentKeeper() {
    if (control() != saved_) asm volatile("msr fpcr, %0" : : "r"(saved_));
  }

 private:
  static uint64_t control() noexcept {
    uint64_t value = 0;
    asm volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  uint64_t saved_;
#endif
};

}  // namespace halftone
