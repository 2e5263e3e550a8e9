// Warnings of the plugin, which the library hands to the embedding program. Safe from any thread.
#pragma once

namespace halftone::cuda {

// Comes once, when the plugin is loaded.
void set_warning_receiver(void (*receiver)(const char* message) noexcept) noexcept;
void warn(const char* message) noexcept;

}  // namespace halftone::cuda
