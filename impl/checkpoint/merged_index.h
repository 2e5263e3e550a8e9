// The index of a checkpoint that several ranks wrote.
#pragma once

#include <vector>

#include "checkpoint/index.h"

namespace halftone::checkpoint {

// Merges the indexes that write_tensors() returned to rank 0, 1, and so on. Together they hold every element of every
// tensor once; a scalar that several ranks saved is equal on all. Throws FORMAT naming the tensor or scalar, or the
// rank whose file is of another save.
Index merged(std::vector<Index> ranks);

}  // namespace halftone::checkpoint
