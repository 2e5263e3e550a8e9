// The range of a flattened parameter that an optimizer updates in this process.
#pragma once

#include <cstdint>

namespace halftone {

struct Shard {
  int64_t begin = 0;
  int64_t end = 0;
};

}  // namespace halftone
