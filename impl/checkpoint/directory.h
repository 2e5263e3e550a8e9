// A directory of checkpoints: DIR/step-N/{rank-r-of-n.safetensors, index.json}. A save writes under temporary names,
// syncs, and renames the index last, so that at every instant the older checkpoints are complete, and the new one
// exists completely or not at all. A load takes the highest step that verifies: every byte is compared with its
// checksum before any is used. The two newest checkpoints are kept. A lock, which a forked child does not inherit, lets
// one process write at a time; a load needs neither the lock nor permission to write. The ranks of a group write a
// checkpoint together: then the lock of rank 0 counts for all. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_files.h"
#include "checkpoint/directory_lock.h"
#include "checkpoint/index.h"
#include "checkpoint/open_checkpoint.h"
#include "core/clock.h"
#include "core/fork_hook.h"
#include "tensor/state_dict.h"

namespace halftone::checkpoint {

class Directory {
 public:
  // Creates the directory if there is none, and locks it. If it holds checkpoints, and may only be read or has no room
  // for the lock file, it is opened without the lock: save() then takes it or throws. Throws IO, STATE if another has
  // the lock.
  Directory(const Io& io, const Clock& clock, const std::string& path);
  // Opens an existing directory without the lock, beside the process that writes to it: begin_save and save are not
  // called.
  static std::unique_ptr<Directory> for_reading(const Io& io, const Clock& clock, const std::string& path);

  // Writes and publishes the state as checkpoint `step`. Throws STATE if this step or a later one exists and is
  // complete, in a forked child, and if another process has the lock of the directory that has this name now; FORMAT,
  // also for a range without the rest of its tensor; IO. After a failure nothing has changed, and the same step may be
  // saved again. Files that a failed save could not remove are ignored, and removed by the next save.
  void save(int64_t step, const StateDict& state);

  // A checkpoint that is being written by one or several ranks, each its own file. Rank 0 holds this object from before
  // the first rank writes until all have written. Without finish() the destructor removes all files.
  class Save {
   public:
    ~Save();
    Save(const Save&) = delete;
    Save& operator=(const Save&) = delete;

    const std::string& id() const noexcept { return id_; }
    // Publishes the checkpoint. `ranks` are the indexes that write_rank() returned to rank 0, 1, and so on. Throws
    // FORMAT, IO.
    void finish(std::vector<Index> ranks);

   private:
    friend class Directory;
    Save(Directory& directory, int64_t step, int64_t world_size);

    Directory& directory_;
    const int64_t step_;
    const std::string id_;
    // Listed before the save: if it fails because memory has run out, the clean-up must not allocate.
    const std::vector<std::string> leftovers_;
    bool is_finished_ = false;
  };
  // Clears the way for the files of `world_size` ranks. Throws as save() does. REQUIRES: the object outlives the Save.
  std::unique_ptr<Save> begin_save(int64_t step, int64_t world_size);
  // Writes one rank's file of a checkpoint that rank 0 has begun, and makes it durable. Throws IO, FORMAT.
  Index write_rank(const SaveRank& save, const StateDict& state) const;

  struct Loaded {
    int64_t step;
    StateDict state;               // reads from the files, which stay open as long as the state
    std::vector<int64_t> damaged;  // later steps that did not verify
  };
  // Verifies the newest checkpoint, or an older one if that is damaged, and keeps it open. The state's readers write to
  // host memory, such as that of `device`, and compare the bytes with the checksums again. Returns nothing if there is
  // no checkpoint. Throws FORMAT if there are some and none verifies, UNSUPPORTED if the newest has a newer format.
  // Without the lock another process may save meanwhile, and remove the checkpoint that is being opened: then an older
  // one is tried, or IO or FORMAT is thrown. Two checkpoints are never mixed.
  std::optional<Loaded> load_latest(ContextDevice& device);

  // Verifies and opens one checkpoint. Throws FORMAT, IO, UNSUPPORTED.
  StateDict load_step(int64_t step, ContextDevice& device);
  // Verifies one share of a checkpoint, and opens it. Throws as load_step() does.
  StateDict load_share(int64_t step, ContextDevice& device, const Share& share) const;
  // All shares of a checkpoint have been verified: it is one of the two to keep.
  void mark_whole(int64_t step) { last_whole_ = step; }

  // The steps with an index that is a file, in ascending order.
  std::vector<int64_t> steps() const;
  // Compares all bytes of a checkpoint with their checksums. Throws FORMAT, IO, UNSUPPORTED.
  void verify(int64_t step) const;

 private:
  struct Reading {};
  Directory(Reading, const Io& io, const Clock& clock, const std::string& path);

  void lock_if_writable();
  std::vector<int64_t> folders() const;  // steps with a folder, complete or not, in ascending order
  static void leave_lock(void* directory) noexcept;
  std::string step_path(int64_t step) const;
  std::string index_path(int64_t step) const;
  bool is_whole(int64_t step) const;
  void require_latest(int64_t step) const;
  std::optional<int64_t> before(int64_t step) const;
  void forget_steps() noexcept;
  void clear_way(int64_t step);
  std::string next_save_id(int64_t step) const;
  void remove_step(int64_t step) const;
  void remove_if_possible(int64_t step) const noexcept;
  void remove_before(int64_t step) const noexcept;

  const Io& io_;
  const Clock& clock_;
  std::string path_;
  DirectoryLock lock_;
  bool is_in_child_ = false;
  std::optional<int64_t> last_whole_;  // the newest step that this object has written or verified
  std::optional<int64_t> failed_;      // the step of a failed save whose index could not be removed
  ForkHook fork_hook_;
};

}  // namespace halftone::checkpoint
