// Scopes of the calling thread that htone_scope_end_later has left to it. Every call of the library begins with this.
#pragma once

#include <atomic>
#include <cstdint>

namespace halftone::capi {

// The scopes of all threads that were left and are still open. Mostly 0, which is cheaper to see than a thread's own.
inline constinit std::atomic<int64_t> left_scope_count{0};

// Ends the innermost scopes of this thread as far as they were left to it and no call under way needs their modes.
void end_left_scopes() noexcept;

[[gnu::always_inline]] inline void end_left_scopes_if_any() noexcept {
  if (left_scope_count.load(std::memory_order_relaxed) != 0) [[unlikely]]
    end_left_scopes();
}

}  // namespace halftone::capi
