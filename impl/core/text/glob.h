// Patterns for names: '*' matches any number of bytes, also none, '?' matches one byte, every other byte itself. Pure
// function, safe from any thread.
#pragma once

namespace halftone {

// Returns whether the whole of `name` matches. Allocates nothing; the time is at most the product of the two lengths.
bool matches_glob(const char* pattern, const char* name) noexcept;

}  // namespace halftone
