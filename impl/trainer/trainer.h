// A training loop that its caller turns: next() fetches a batch, the caller computes the loss, take_loss() does the
// rest. If a step fails before its update, the run goes back to the end of the step before. One thread at a time.
#pragma once

#include <functional>

#include "core/ref.h"
#include "tensor/tensor.h"
#include "trainer/step_record.h"

namespace halftone {
class AutocastPolicy;  // ops/dispatch/autocast.h
class Group;           // comm/group/group.h
}  // namespace halftone
namespace halftone::analysis {
class Statistics;  // analysis/statistics/statistics.h
}
namespace halftone::data {
class Batches;  // data/batches.h
}
namespace halftone::optim {
class GradScaler;  // optim/grad_scaler.h
class Optimizer;   // optim/optimizer.h
}  // namespace halftone::optim
namespace halftone::resume {
class Checkpoint;  // resume/checkpoint.h
}

namespace halftone::trainer {

// Must match htone_trainer_phase in capi/include/halftone/trainer.h.
enum class Phase : int32_t { kDone = 0, kTrain = 1, kEvaluate = 2 };

class Trainer : public RefCounted {
 public:
  // Fetches the next batch, of training or of an evaluation that is due. Between two steps, saves a checkpoint that is
  // due. Throws STATE while the loss of a batch is missing.
  virtual Phase next() = 0;
  // A tensor of the current batch. Throws STATE before the first one, INVALID_ARGUMENT naming "index".
  virtual Tensor tensor(size_t index) const = 0;
  // Takes the loss of the current batch, a scalar. Throws STATE without a batch that waits for it.
  virtual void take_loss(const Tensor& loss) = 0;
  // Goes back to the end of the last whole step, or to the beginning of the evaluation under way.
  virtual void restart_step() = 0;
  // Saves a checkpoint of the state after the last whole step; restarts the step under way. Throws STATE without a
  // directory of checkpoints.
  virtual void save() = 0;

  // These throw STATE after the first next(). The batches must not have the training's sampler.
  virtual void set_evaluation(const Ref<data::Batches>& batches) = 0;
  virtual void set_group(const Ref<Group>& group) = 0;
  virtual void set_optimizer(const Ref<optim::Optimizer>& optimizer) = 0;
  virtual void set_scaler(const Ref<optim::GradScaler>& scaler) = 0;
  virtual void set_policy(const Ref<AutocastPolicy>& policy) = 0;
  virtual void set_checkpoint(const Ref<resume::Checkpoint>& checkpoint) = 0;
  virtual void set_statistics(const Ref<analysis::Statistics>& statistics) = 0;
  // Called after each step with its number.
  virtual void set_progress(std::function<void(int64_t)> progress) = 0;

  // Makes it if there is none.
  virtual const Ref<optim::Optimizer>& optimizer() = 0;
  virtual const Ref<optim::GradScaler>& scaler() const noexcept = 0;
  virtual const Ref<AutocastPolicy>& policy() const noexcept = 0;

  virtual bool is_evaluating() const noexcept = 0;
  virtual int64_t steps_done() const noexcept = 0;
  virtual int64_t steps() const noexcept = 0;
  virtual const StepRecord& last_step() const noexcept = 0;
  virtual EvaluationRecord evaluation() const = 0;
  virtual RunEnd ended() const = 0;
};

}  // namespace halftone::trainer
