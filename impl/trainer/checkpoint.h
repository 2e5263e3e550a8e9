// Saves and loads a training run in a directory of checkpoints. One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "checkpoint/directory.h"
#include "runtime/context.h"
#include "trainer/training_state.h"

namespace halftone::trainer {

class Checkpoint final : public RefCounted {
 public:
  // Locks the directory. The context's count of random sequences is always one of the parts. Throws IO, STATE.
  Checkpoint(Ref<Context> context, const std::string& directory);

  void add(std::string name, PartObject object) { state_.add(std::move(name), std::move(object)); }

  // These throw as those of Directory do, and INVALID_ARGUMENT for a step below 0. save() throws STATE after a load
  // that failed half-way.
  void save(int64_t step);
  void verify(int64_t step) const;
  // Returns the step; -1 if there is no checkpoint. The checkpoint is read twice: all of it is verified and compared
  // with the parts before the first write, and then each tensor is read into its place. If only the second reading
  // fails, the error says that the state was partly loaded; after every other error nothing has changed.
  int64_t load();
  // The newest step, complete or not; -1 if there is none.
  int64_t latest() const;

 private:
  void commit(const StagedLoad& load);

  Ref<Context> context_;
  checkpoint::Directory directory_;
  TrainingState state_;
  bool is_partly_loaded_ = false;  // the parts are a mix of two states
};

}  // namespace halftone::trainer
