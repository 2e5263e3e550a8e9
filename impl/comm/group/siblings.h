// The groups of one rank that were split from one group, or from its parts. A rank that fails in one of them leaves the
// order of the calls in all, so they fail together, with one reason. Safe from any thread.
#pragma once

#include <mutex>
#include <vector>

#include "comm/group/process_group.h"
#include "core/ref.h"

namespace halftone {

class Siblings final : public RefCounted {
 public:
  // Throws OUT_OF_MEMORY.
  void add(ProcessGroup& group);
  // Comes before the group is destroyed.
  void remove(const ProcessGroup& group) noexcept;
  // Fails the others with the reason for which `group` failed. Groups that are added later are left alone, so that a
  // program can split again.
  void fail_others(const ProcessGroup& group, const Status& reason) noexcept;

 private:
  struct Entry {
    ProcessGroup* group;
    bool has_failed = false;
  };

  std::mutex mutex_;  // guards entries_, and keeps the groups alive during calls
  std::vector<Entry> entries_;
};

}  // namespace halftone
