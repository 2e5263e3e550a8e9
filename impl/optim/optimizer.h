// The common part of all optimizers: the parameters they own by groups, the state on the device, the step and its
// schedule. A rule adds the groups' settings and their kernel (optim/grouped_optimizer.h).
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "optim/schedule_rule.h"
#include "optim/step_gradients.h"

namespace halftone {

struct UpdateSlot;  // backend/kernels/optim.h
template <class Slot>
struct MultiTensor;

}  // namespace halftone

namespace halftone::optim {

class UpdateWatcher;  // optim/update_watcher.h

class Optimizer : public RefCounted, public UpdateRule {
 public:
  // On the device of the first group, owning none yet. Throws STATE for no parameters.
  explicit Optimizer(const ParameterGroup& first);

  ContextDevice& device() const { return state_.device(); }
  const std::vector<OwnedParameter>& parameters() const noexcept { return owned_.list(); }
  // As the next step sees them; with the calls of scalers, clips and guards.
  StepGradients& gradients() noexcept { return gradients_; }
  const StepGradients& gradients() const noexcept { return gradients_; }

  // Drops the gradients, with their memory if it is not shared (AccumulateGrad::zero_grad), and all that is about
  // them: the factor, and the result of the check.
  void zero_grad();
  // The schedule of the next step. A schedule of the caller's waits for the device. Its callback may freeze parameters,
  // bring gradients and use the scaler; where it fails, nothing has changed. Throws STATE for no gradient.
  Schedule ask_schedule() const;
  // Updates the parameters that have a gradient, without a scaler; unless unscale, or the guard, found some that are
  // not finite.
  void step();
  // Updates the weights after a scaler's unscale.
  void step_unscaled(const Schedule& schedule);

  // The outcome of the last step; waits for the device.
  struct Outcome {
    bool skipped = false;
    NotFinite kind = NotFinite::kNothing;
    // The name of the first parameter whose gradient was not finite, or of the one that has the largest part of a norm
    // that exceeds or was bounded. Null if there is none, or if another rank found it and did not say.
    const char* offending = nullptr;
    // The rank whose part of that gradient was not finite; -1 if ranks did not average, or did not look.
    int32_t rank = -1;
    double norm = 0.0;        // of the gradients, unscaled and before clipping; 0 if the step did not need it
    double norm_limit = 0.0;  // of the guard on the norm; 0 if there was none
    bool exceeded = false;    // the norm was above the limit
    bool bounded = false;     // the norm, after clipping, was above what the rule squares
  };
  Outcome outcome() const;

  // The count of steps and of each parameter's updates: the steps in which it had a gradient and that were not skipped.
  // Reading waits for the device.
  int64_t step_count() const { return state_.read().step; }
  void set_step_count(int64_t step);
  std::vector<int64_t> update_counts() const { return owned_.update_counts(); }
  // REQUIRES: one for each parameter.
  void set_update_counts(const std::vector<int64_t>& counts) { owned_.set_update_counts(counts); }

  // Shows each update from now on to a watcher, which lives until another one, or null, is set in its place.
  void watch(UpdateWatcher* watcher) noexcept { watcher_ = watcher; }
  UpdateWatcher* watcher() const noexcept { return watcher_; }
  // The state in device memory, one OptimizerState in bytes, which a watcher can copy without a wait.
  const Tensor& device_state() const noexcept { return state_.memory(); }

  void set_schedule(const ScheduleRule& schedule) noexcept { schedule_ = schedule; }
  const ScheduleRule& schedule() const noexcept { return schedule_; }
  // The learning rate of a group in the next step; waits for the device. REQUIRES: group < group_count().
  double lr(size_t group);

  // "adamw", "sgd".
  virtual const char* kind() const noexcept = 0;
  // True if the rule has second moments, so that it bounds gradients to kLargestSquared.
  virtual bool squares_gradients() const noexcept = 0;
  virtual size_t group_count() const noexcept = 0;
  virtual const Precision& group_precision(size_t group) const noexcept = 0;
  // The rate that the schedule multiplies, from the next step on.
  virtual void set_lr(size_t group, double lr) = 0;
  // The settings of a group by name, for a checkpoint (optim/state.h).
  struct NamedNumber {
    const char* name;
    double value;
  };
  virtual std::vector<NamedNumber> group_numbers(size_t group) const = 0;
  // Checks loaded numbers, in the order of group_numbers, and returns the function that puts them in place. Throws
  // FORMAT for numbers that no group can have, and where they need other moments than the group keeps.
  virtual std::function<void()> stage_group_numbers(size_t group, const std::vector<double>& numbers) = 0;
  void list_settings(bool with_position, std::vector<UpdateSetting>& to) const override;

 protected:
  // Runs the kernel of this optimizer over the slots. `partials` has one number for each chunk, which it may overwrite.
  virtual void update(const MultiTensor<UpdateSlot>& slots, double* partials, const OptimizerState* state) = 0;
  // The rate of a group that the schedule multiplies.
  virtual double own_lr(size_t group) const noexcept = 0;
  // Adds the parameters as a group; they are free and as they were where this throws.
  void own(const ParameterGroup& group, const Moments& kept);

 private:
  // The part of this optimizer in the recording of this thread; null if it records no work of the device.
  RecordedUpdate* recorded_update() const;
  void update_weights(const Schedule& schedule);
  void update_listed(const StepPlan& plan);
  // The weights of these parameters, which are of one set, have changed.
  void mark_updated(size_t set, const std::vector<size_t>& numbers);
  void remember_ranks(const StepPlan& plan);

  OwnedParameters owned_;
  DeviceState state_;
  StepGradients gradients_;
  ScheduleRule schedule_;
  UpdateWatcher* watcher_ = nullptr;
  // The parameters whose gradient in the last step was not finite on a rank, and that rank. The gradients of the next
  // step may replace them before the outcome is asked for.
  std::vector<std::pair<size_t, int32_t>> not_finite_ranks_;
  // Known without waiting for the device, for list_settings.
  int64_t steps_called_ = 0;      // since the count was set, skipped ones included
  double schedule_factor_ = 1.0;  // that the caller's schedule returned last
};

}  // namespace halftone::optim
