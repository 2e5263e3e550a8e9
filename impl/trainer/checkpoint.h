// A training run and the directory that its checkpoints are in. One thread at a time.
#pragma once

#include <cstdint>
#include <string>

#include "backend/context.h"
#include "checkpoint/directory.h"
#include "trainer/training_state.h"

namespace halftone::trainer {

class Checkpoint final : public RefCounted {
 public:
  // Locks the directory. The context's count of random streams is a part from the beginning. Throws IO, STATE.
  Checkpoint(Ref<Context> context, const std::string& directory);

  void add(StatePart part) { state_.add(std::move(part)); }

  // As Directory's, and INVALID_ARGUMENT for a step below 0.
  void save(int64_t step);
  void verify(int64_t step) const;
  // Answers the step; -1 where there is no checkpoint.
  int64_t load();
  // The newest step, whole or not; -1 where there is none.
  int64_t latest() const;

 private:
  Ref<Context> context_;
  checkpoint::Directory directory_;
  TrainingState state_;
};

}  // namespace halftone::trainer
