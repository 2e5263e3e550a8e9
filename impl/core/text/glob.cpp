#include "core/text/glob.h"

namespace halftone {

// On a mismatch behind a star, that star takes one more byte and matching resumes behind it. Earlier stars are never
// tried again: the last star can take every byte that a longer match of theirs would free.
bool matches_glob(const char* pattern, const char* name) noexcept {
  const char* after_star = nullptr;
  const char* taken_to = nullptr;
  while (*name != '\0') {
    if (*pattern == '*') {
      after_star = ++pattern;
      taken_to = name;
    } else if (*pattern == '?' || *pattern == *name) {
      ++pattern;
      ++name;
    } else if (after_star != nullptr) {
      pattern = after_star;
      name = ++taken_to;
    } else {
      return false;
    }
  }
  while (*pattern == '*') ++pattern;
  return *pattern == '\0';
}

}  // namespace halftone
