// Patterns of names: '*' stands for any run of bytes, none included, '?' for one byte, everything else for itself. Pure
// function, safe from any thread.
#pragma once

namespace halftone {

// Whether the whole of `name` matches. Takes no memory, and time of at most the product of the lengths.
bool matches_glob(const char* pattern, const char* name) noexcept;

}  // namespace halftone
