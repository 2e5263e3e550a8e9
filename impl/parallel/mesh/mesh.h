// The groups of the ranks that train one model: one for each axis along which they differ. Used by Exchange. The groups
// outlive it. Constant, so any thread may read it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "comm/group/process_group.h"

namespace halftone::parallel {

enum class Axis : uint8_t {
  kData,     // the ranks compute parts of a batch, and may share the state of training
  kReplicas  // the ranks of this number in other groups of kData (hybrid sharding)
};

// Ranks that differ along these axes alone hold the same model. The last axis varies slowest in a list of all of them.
inline constexpr Axis kModelAxes[] = {Axis::kData, Axis::kReplicas};

class Mesh {
 public:
  // `replicas`: null if there is one group of kData alone.
  Mesh(ProcessGroup& data, ProcessGroup* replicas = nullptr) : groups_{{Axis::kData, &data}} {
    if (replicas != nullptr) groups_.push_back({Axis::kReplicas, replicas});
  }

  // Null if this rank differs from no other along the axis.
  ProcessGroup* find(Axis axis) const noexcept {
    const auto found =
        std::find_if(groups_.begin(), groups_.end(), [axis](const Named& named) { return named.axis == axis; });
    return found == groups_.end() ? nullptr : found->group;
  }
  int32_t rank(Axis axis) const noexcept {
    const ProcessGroup* group = find(axis);
    return group == nullptr ? 0 : group->rank();
  }
  int32_t size(Axis axis) const noexcept {
    const ProcessGroup* group = find(axis);
    return group == nullptr ? 1 : group->size();
  }

 private:
  struct Named {
    Axis axis;
    ProcessGroup* group;
  };

  std::vector<Named> groups_;
};

}  // namespace halftone::parallel
