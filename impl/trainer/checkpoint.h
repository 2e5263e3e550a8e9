// Saves and loads a training run in a directory of checkpoints, of one process or of the ranks of a group that hold the
// same state: then every rank calls each function, rank 0 alone writes, and an error of one rank is an error of all.
// One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "checkpoint/directory.h"
#include "comm/group.h"
#include "runtime/context.h"
#include "trainer/training_state.h"

namespace halftone::trainer {

class Checkpoint final : public RefCounted {
 public:
  // Locks the directory. The context's count of random sequences is always one of the parts. Throws IO, STATE.
  Checkpoint(Ref<Context> context, const std::string& directory);
  // Rank 0 locks the directory; the others read it, and must see the same files. Throws the error of any rank.
  Checkpoint(Ref<Context> context, const std::string& directory, Ref<Group> group);

  void add(std::string name, PartObject object) { state_.add(std::move(name), std::move(object)); }

  // These throw as those of Directory do, and INVALID_ARGUMENT for a step below 0. save() throws STATE after a load
  // that failed half-way.
  void save(int64_t step);
  void verify(int64_t step) const;
  // Returns the step; -1 if there is no checkpoint. The checkpoint is read twice: all of it is verified and compared
  // with the parts before the first write, and then each tensor is read into its place. If only the second reading
  // fails, the error says that the state was partly loaded; after every other error nothing has changed. Ranks load the
  // checkpoint that rank 0 chooses, and each its own random sequences.
  int64_t load();
  // The newest step, complete or not; -1 if there is none. Ranks need not call it together.
  int64_t latest() const;

 private:
  bool is_alone() const { return !group_ || (*group_)->size() == 1; }
  bool is_writer() const { return is_alone() || (*group_)->rank() == 0; }
  void open(const std::string& directory);
  void require_whole() const;
  int64_t load_newest(StateDict* out);
  int64_t load_alone();
  int64_t load_together();
  StagedLoad staged(const StateDict& state);
  void save_together(int64_t step);
  void commit(const StagedLoad& load);

  Ref<Context> context_;
  Ref<Group> group_;  // null for one process
  std::unique_ptr<checkpoint::Directory> directory_;
  TrainingState state_;
  bool is_partly_loaded_ = false;  // the parts are a mix of two states
};

}  // namespace halftone::trainer
