// The evaluations of a run as a checkpoint holds them: a part of its own. One thread at a time.
#pragma once

#include "tensor/state_dict.h"
#include "trainer/step_record.h"

namespace halftone::trainer {

class SavedEvaluations {
 public:
  // Throws OUT_OF_MEMORY.
  explicit SavedEvaluations(ContextDevice& device);

  const Ref<SharedStateDict>& part() const noexcept { return part_; }
  void write(const EvaluationRecord& record);
  // Waits for the device.
  EvaluationRecord read() const;

 private:
  Tensor numbers_;  // f64 [4]: step, loss, best, worse
  Ref<SharedStateDict> part_;
};

}  // namespace halftone::trainer
