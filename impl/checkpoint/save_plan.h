// Decides which rank writes what, before ranks that hold parts of tensors write a checkpoint together. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/index.h"

namespace halftone::checkpoint {

// A rank's part of a plan: a letter for each of its tensors, in order.
inline constexpr char kWritten = 'w';  // by this rank
inline constexpr char kLeft = '-';     // to another rank, or without elements

// `held` has the index of each rank, with the parts of tensors that it has (unwritten_index). The lowest of the ranks
// that have the same part of a tensor writes it, and no rank writes an empty one; a tensor without elements is written
// once. Returns the part of each rank in the plan. Throws FORMAT naming the tensor if the parts overlap otherwise,
// leave a gap, or belong to tensors of different dtypes or shapes.
std::vector<std::string> plan_save(const std::vector<Index>& held);

}  // namespace halftone::checkpoint
