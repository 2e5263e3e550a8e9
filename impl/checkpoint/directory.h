// A directory of checkpoints: DIR/step-N/{rank-r-of-n.safetensors, index.json}. A save writes under temporary names,
// syncs, and renames the index last, so that at every instant the checkpoints before it are whole and the new one is
// there or not. A load takes the highest step that verifies: every byte is compared with its checksum before anybody
// sees it. The two newest checkpoints are kept. One process writes at a time, held by a lock that a forked child does
// not inherit; one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/directory_lock.h"
#include "checkpoint/index.h"
#include "core/clock.h"
#include "core/fork_hook.h"
#include "tensor/state_dict.h"

namespace halftone::checkpoint {

class Directory {
 public:
  // Makes the directory where there is none, and locks it. Throws IO, STATE where another has the lock.
  Directory(const Io& io, const Clock& clock, const std::string& path);

  // Writes and publishes the state as checkpoint `step`. Throws STATE where this step or a later one is there and
  // whole, where a fork made this process, or where the directory was replaced by one that another writes into; FORMAT,
  // IO. After a failure nothing has changed, and the same step may be saved again: what the failed save left on a disk
  // that would not even remove it counts for nothing here, and the next save removes it.
  void save(int64_t step, const StateDict& state);

  struct Loaded {
    int64_t step;
    StateDict state;               // tensors in fresh memory
    std::vector<int64_t> damaged;  // later steps that did not verify
  };
  // Nothing where there is no checkpoint. Throws FORMAT where there are some and none verifies, UNSUPPORTED where the
  // newest has a newer format.
  std::optional<Loaded> load_latest(ContextDevice& device);

  // Those with an index that is a file, in ascending order.
  std::vector<int64_t> steps() const;
  // Reads all of a checkpoint against its checksums. Throws FORMAT, IO, UNSUPPORTED.
  void verify(int64_t step) const;

 private:
  std::vector<int64_t> folders() const;  // steps with a folder, whole or not, in ascending order
  static void leave_lock(void* directory) noexcept;
  std::string step_path(int64_t step) const;
  std::string index_path(int64_t step) const;
  bool is_whole(int64_t step) const;
  void require_latest(int64_t step) const;
  std::optional<int64_t> before(int64_t step) const;
  void forget_steps() noexcept;
  void clear_way(int64_t step);
  void publish(int64_t step, const StateDict& state);
  std::string next_save_id(int64_t step) const;
  void remove_step(int64_t step) const;
  void remove_if_possible(int64_t step) const noexcept;
  void remove_before(int64_t step) const noexcept;

  const Io& io_;
  const Clock& clock_;
  std::string path_;
  DirectoryLock lock_;
  bool is_in_child_ = false;
  std::optional<int64_t> last_whole_;  // the newest that this object has written or verified
  std::optional<int64_t> failed_;      // whose save left an index that would not go, until a later save has removed it
  ForkHook fork_hook_;
};

}  // namespace halftone::checkpoint
