// The loop behind a trainer. It owns the order of the calls and nothing that they do: each is one that a caller could
// make. One thread at a time.
#pragma once

#include <memory>
#include <optional>

#include "backend/formula/grad_scaler.h"
#include "trainer/evaluations.h"
#include "trainer/modes.h"
#include "trainer/objects.h"
#include "trainer/saved_numbers.h"
#include "trainer/settings.h"
#include "trainer/step_state.h"
#include "trainer/trainer.h"

namespace halftone::trainer {

class Loop final : public Trainer {
 public:
  Loop(const Settings& settings, Objects objects);

  Phase next() override;
  Tensor tensor(size_t index) const override;
  void take_loss(const Tensor& loss) override;
  void restart_step() override;
  void save() override;

  void set_evaluation(const Ref<data::Batches>& batches) override;
  void set_group(const Ref<Group>& group) override { changeable().group = group; }
  void set_optimizer(const Ref<optim::Optimizer>& optimizer) override { changeable().optimizer = optimizer; }
  void set_scaler(const Ref<optim::GradScaler>& scaler) override { changeable().scaler = scaler; }
  void set_policy(const Ref<AutocastPolicy>& policy) override { changeable().policy = policy; }
  void set_checkpoint(const Ref<resume::Checkpoint>& checkpoint) override { changeable().checkpoint = checkpoint; }
  void set_statistics(const Ref<analysis::Statistics>& statistics) override { changeable().statistics = statistics; }
  void set_progress(std::function<void(int64_t)> progress) override { changeable().progress = std::move(progress); }

  const Ref<optim::Optimizer>& optimizer() override;
  const Ref<optim::GradScaler>& scaler() const noexcept override { return objects_.scaler; }
  const Ref<AutocastPolicy>& policy() const noexcept override { return objects_.policy; }

  bool is_evaluating() const noexcept override { return evaluations_ && evaluations_->is_under_way(); }
  int64_t steps_done() const noexcept override { return steps_done_; }
  int64_t steps() const noexcept override { return settings_.steps; }
  const StepRecord& last_step() const noexcept override { return record_; }
  EvaluationRecord evaluation() const override { return evaluations_ ? evaluations_->record() : EvaluationRecord(); }
  RunEnd ended() const override;

 private:
  // The objects, while they can be replaced. Throws STATE after the first next().
  Objects& changeable();
  int64_t now() const { return context_->clock().monotonic_ns(context_->clock().user); }

  // The first next() alone.
  void begin();
  void make_parts();
  void open_checkpoint();
  void add_objects(resume::Checkpoint& checkpoint);
  void load_or_refuse();
  void open_record();
  // Between two steps.
  bool evaluation_is_due() const;
  bool checkpoint_is_due() const;
  void begin_evaluation();
  bool begin_step();
  void save_now();
  Phase fetch();

  // Time from now on is that of a part of the step.
  void begin_part(analysis::StepPart part);
  void take_evaluation_loss(const Tensor& loss);
  void backward(const Tensor& loss);
  void update();
  void finish_step();
  void complete_record();
  void raise_module();

  const Settings settings_;
  Objects objects_;
  Ref<Context> context_;             // null before the first next()
  std::optional<StepState> before_;  // the step or evaluation under way
  std::optional<Evaluations> evaluations_;
  std::optional<Fallback> fallback_;
  // The part of a checkpoint besides the objects: evaluations and raised modules.
  const Ref<SharedStateDict> progress_ = make_ref<SharedStateDict>();
  std::optional<SavedNumbers> saved_evaluations_, saved_fallback_;
  TrainingModes modes_;
  ScalerState scaler_;  // after the last whole step

  bool has_begun_ = false;
  bool has_parts_ = false;  // the checkpoint knows the objects
  bool awaits_loss_ = false;
  bool must_restart_ = false;  // a step failed half-way
  int64_t steps_done_ = 0;
  int64_t saved_step_ = -1;
  int64_t batches_taken_ = 0;  // of the step under way
  int64_t step_begin_ = 0;     // now()
  Losses losses_;
  StepRecord record_, coming_;  // of the last step, and of the one under way
};

}  // namespace halftone::trainer
