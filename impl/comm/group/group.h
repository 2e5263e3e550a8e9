// A process group with what it needs: its store and its device's context, which live at least as long. The C API and
// the engines of parallel hold it. Thread rules as ProcessGroup.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/group/owned.h"
#include "core/error.h"
#include "core/ref.h"
#include "runtime/context_device.h"

namespace halftone {

class SharedStore;  // comm/group/shared_store.h
class Siblings;     // comm/group/siblings.h

class Group final : public RefCounted, private GroupListener {
 public:
  // `options` names no device and no store. `store` may be null for kinds that need none. Throws as create_group.
  Group(const char* kind, ContextDevice& device, Ref<SharedStore> store, const GroupOptions& options);
  ~Group() override;

  ProcessGroup& process_group() const noexcept { return *group_; }
  ProcessGroup* operator->() const noexcept { return group_.get(); }
  ContextDevice& device() const noexcept { return device_; }
  const std::string& name() const noexcept { return name_; }

  // The caller's operations ask for sums in one tree (CallOptions::is_deterministic). Comes before the first of them.
  void set_deterministic() noexcept { is_deterministic_ = true; }
  bool is_deterministic() const noexcept { return is_deterministic_; }

  // New groups, each of the ranks that gave one color, in the order of (key, rank). Every rank of this group calls it.
  // Null where color is negative: then this rank is in none of them. Messages name ranks by their numbers in the group
  // that was not split from another one. Parts fail together (Siblings). Throws the errors of the ranks' exchange and
  // of create_group.
  Ref<Group> split(int32_t color, int32_t key);

  // Keeps a handle, and the memory of its operation, until the operation is done or the group is gone. Safe from any
  // thread.
  void keep(OwnedWork work, std::shared_ptr<const void> memory) noexcept;

 private:
  // `siblings` are the parts of the group that this one is a part of, null for a group that is none.
  Group(const char* kind, ContextDevice& device, Ref<SharedStore> store, const GroupOptions& options,
        Ref<Siblings> siblings);
  void on_failure(const Status& reason) noexcept override;

  struct Kept {
    OwnedWork work;
    std::shared_ptr<const void> memory;
  };

  const Ref<Context> context_;
  ContextDevice& device_;
  const Ref<SharedStore> store_;
  const std::string kind_;
  const std::string name_;
  const std::string interface_;
  const std::vector<int32_t> run_ranks_;
  GroupOptions options_;
  std::mutex mutex_;        // guards kept_
  std::vector<Kept> kept_;  // destroyed after the group, which ends all operations
  Ref<Siblings> siblings_;  // of this group, which is a part; null for others
  Ref<Siblings> parts_;     // of those that are split from it
  OwnedGroup group_;
  uint64_t splits_ = 0;
  bool is_deterministic_ = false;
};

// Waits for an operation, start(&work), and throws its error.
template <class Start>
void run_and_wait(Start&& start) {
  Work* started = nullptr;
  check(start(&started));
  const OwnedWork work(started);
  check(work->wait());
}

}  // namespace halftone
