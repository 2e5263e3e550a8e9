// Warnings for the embedding program: one callback per process, none by default. Safe from any thread. No lock is held
// while the callback runs.
#pragma once

namespace halftone {

using LogFunction = void (*)(const char* message, void* user);

// A null `callback` turns logging off. `destroy` (may be null) runs once with `user` when the callback is no longer in
// use. Throws OUT_OF_MEMORY, and then has changed nothing.
void set_log_receiver(LogFunction callback, void* user, void (*destroy)(void* user));

void log_warning(const char* format, ...) noexcept __attribute__((format(printf, 1, 2)));

}  // namespace halftone
