// The ranks of a group agree about a step that all of them take or none: they exchange its result on each rank, and a
// few numbers. Every rank calls these functions at the same place.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <vector>

#include "comm/group/group.h"
#include "core/error.h"

namespace halftone {

using Numbers = std::array<int64_t, 4>;

// Collects the results and the numbers of all ranks. `error` is this rank's, null if it has none; it is thrown again
// here. The error of another rank is thrown as an error of the same code that names the rank. Also throws the errors of
// the exchange. Returns the numbers of every rank.
std::vector<Numbers> agree(Group& group, const std::exception_ptr& error, const Numbers& numbers);

// Runs `action`, which returns this rank's numbers, on every rank.
template <class Action>
std::vector<Numbers> agree_on(Group& group, Action&& action) {
  Numbers numbers = {};
  std::exception_ptr error;
  try {
    numbers = action();
  } catch (...) {
    error = std::current_exception();
  }
  return agree(group, error, numbers);
}

}  // namespace halftone
