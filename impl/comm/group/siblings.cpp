#include "comm/group/siblings.h"

#include <algorithm>

namespace halftone {

void Siblings::add(ProcessGroup& group) {
  const std::lock_guard lock(mutex_);
  entries_.push_back({.group = &group});
}

void Siblings::remove(const ProcessGroup& group) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const Entry& entry) { return entry.group == &group; });
}

void Siblings::fail_others(const ProcessGroup& group, const Status& reason) noexcept {
  const std::lock_guard lock(mutex_);
  const auto own = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.group == &group; });
  if (own == entries_.end() || own->has_failed) return;
  own->has_failed = true;
  for (Entry& entry : entries_) {
    if (!entry.has_failed) entry.group->fail(reason);
    entry.has_failed = true;
  }
}

}  // namespace halftone
