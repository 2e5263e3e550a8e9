// Ends calls of the C API early when the embedding program sets a number, which a signal handler may do. Read where a
// call may fail in any case: where it makes a tensor, and while it waits. One number a process, none by default. Safe
// from any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/ref.h"
#include "core/status.h"

namespace halftone {

using InterruptFlag = const volatile int32_t;

// The embedding program's part.
class Interrupter : public RefCounted {
 public:
  // Returns 0 if the call of this thread goes on, else the native code of its error.
  virtual int32_t decide() noexcept = 0;
};

// Replaces both. A null flag ends no calls; a null interrupter ends each call that finds another value than 0.
void set_interrupt(InterruptFlag* flag, Ref<Interrupter> interrupter);

inline constinit std::atomic<InterruptFlag*> interrupt_flag{nullptr};

// The slow path of interruption().
Status ask_for_interruption() noexcept;

// CANCELLED, once a call, if the program ends the call of the C API that this thread is in. OK on threads that are in
// none, where an error would reach no caller.
inline Status interruption() noexcept {
  InterruptFlag* const flag = interrupt_flag.load(std::memory_order_acquire);
  return flag == nullptr || *flag == 0 ? Status() : ask_for_interruption();
}

// True if waits have to look.
inline bool may_be_interrupted() noexcept { return interrupt_flag.load(std::memory_order_relaxed) != nullptr; }
// How often they do.
inline constexpr int64_t kInterruptLookNs = 50'000'000;

}  // namespace halftone
