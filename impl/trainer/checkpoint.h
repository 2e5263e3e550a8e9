// Saves and loads a training run in a directory of checkpoints. One thread at a time.
#pragma once

#include <cstdint>
#include <string>

#include "checkpoint/directory.h"
#include "runtime/context.h"
#include "trainer/training_state.h"

namespace halftone::trainer {

class Checkpoint final : public RefCounted {
 public:
  // Locks the directory. The context's count of random sequences is always one of the parts. Throws IO, STATE.
  Checkpoint(Ref<Context> context, const std::string& directory);

  void add(StatePart part) { state_.add(std::move(part)); }

  // These throw as those of Directory do, and INVALID_ARGUMENT for a step below 0.
  void save(int64_t step);
  void verify(int64_t step) const;
  // Returns the step; -1 if there is no checkpoint.
  int64_t load();
  // The newest step, complete or not; -1 if there is none.
  int64_t latest() const;

 private:
  Ref<Context> context_;
  checkpoint::Directory directory_;
  TrainingState state_;
};

}  // namespace halftone::trainer
