#include "core/glob.h"

namespace halftone {

// Where what follows a star does not match, that star takes one more byte; stars before it need no second look, since
// the last one could take whatever they would give up.
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
