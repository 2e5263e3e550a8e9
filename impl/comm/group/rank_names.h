// The numbers by which messages name the ranks of a group. The part of a group has numbers of its own, but readers know
// the ranks of the run. Used by everything that writes messages about ranks; never changes.
#pragma once

#include <vector>

#include "comm/group/process_group.h"

namespace halftone {

class RankNames {
 public:
  // The group's own numbers.
  RankNames() = default;
  // Throws OUT_OF_MEMORY.
  explicit RankNames(const GroupOptions& options) {
    if (options.run_ranks != nullptr) numbers_.assign(options.run_ranks, options.run_ranks + options.size);
  }

  // Returns other numbers than those of ranks as they are: messages repeat what a rank called.
  int operator[](int rank) const noexcept {
    const auto index = static_cast<size_t>(rank);
    return rank >= 0 && index < numbers_.size() ? numbers_[index] : rank;
  }

 private:
  std::vector<int32_t> numbers_;
};

}  // namespace halftone
