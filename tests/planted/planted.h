// Chooses the fault that a process has. Planted sources include this file, in a copy of the tree that tests/planted/run
// makes. The number is read before main, so that kernels pay for one load.
#pragma once

#include <cstdlib>

namespace halftone_planted {

inline int chosen_fault() {
  const char* text = std::getenv("HALFTONE_PLANTED_FAULT");
  return text == nullptr ? 0 : std::atoi(text);
}

inline const int chosen = chosen_fault();

inline bool planted(int number) { return chosen == number; }

}  // namespace halftone_planted
