// Notes of the places that made handles, for a program that looks for handles which it forgot to release. Off until it
// asks, because each note takes about a microsecond. Safe from any thread.
#pragma once

#include <atomic>
#include <string>

namespace halftone::capi {

class HandleOrigins {
 public:
  static bool is_on() noexcept { return is_on_.load(std::memory_order_relaxed); }
  // Turning it off forgets all notes.
  static void set_on(bool on);
  // Notes the public function under way and its caller. Does nothing where there is no memory for the note.
  static void note(void* handle) noexcept;
  // The live handles of this process, a line for each type and origin: "tensor: 2 from htone_mul, called at step+0x2f
  // (./train)".
  static std::string report();

 private:
  static constinit inline std::atomic<bool> is_on_{false};
};

}  // namespace halftone::capi
