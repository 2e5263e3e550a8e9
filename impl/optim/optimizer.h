// The common part of all optimizers: the parameters they own by groups, state on the device, the pass over all
// gradients and the schedule. A rule adds the groups' settings and their kernel (optim/grouped_optimizer.h).
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "backend/chunks.h"
#include "optim/device_array.h"
#include "optim/owned_parameter.h"
#include "optim/schedule_rule.h"
#include "optim/step_order.h"
#include "optim/update_windows.h"

namespace halftone::optim {

class RecordedUpdate;

// Makes room for further elements, so that adding them does not throw. Grows by half at least, since many groups may be
// added one after another.
template <class Element>
void make_room(std::vector<Element>& list, size_t further) {
  const size_t needed = list.size() + further;
  if (needed > list.capacity()) list.reserve(std::max(needed, list.capacity() + list.capacity() / 2));
}

class Optimizer : public RefCounted, public UpdateRule {
 public:
  // On the device of the first group, owning none yet. Throws STATE for no parameters.
  explicit Optimizer(const ParameterGroup& first);

  // Drops the gradients, with their memory if it is not shared (AccumulateGrad::zero_grad), and all that is about
  // them: the factor, and the result of the check.
  void zero_grad();
  // The schedule of the next step. A schedule of the caller's waits for the device. Its callback may freeze parameters,
  // bring gradients and use the scaler; where it fails, nothing has changed. Throws STATE for no gradient.
  Schedule ask_schedule() const;
  // Updates the parameters that have a gradient, without a scaler; unless unscale, or the guard, found some that are
  // not finite.
  void step();
  // The check of the gradients in step(). kError throws STATE, which waits for the device.
  enum class Guard { kNone, kSkip, kError };
  void set_guard(Guard guard) noexcept { guard_ = guard; }
  // The bounds on the norm of all gradients together, unscaled and before clipping, of all later steps, with a scaler
  // or without. A guard without bounds is none, and forgets the mean.
  void set_norm_guard(const NormGuard& guard);
  // The running mean of the norm and its count of steps, for a checkpoint. Reading waits for the device.
  struct MeanNorm {
    double mean = 0.0;
    int64_t count = 0;
  };
  MeanNorm mean_norm() const;
  void set_mean_norm(const MeanNorm& mean);

  // The calls of a scaler. optim/step_order.h gives the order, which the scaler checks.
  const StepOrder& order() const noexcept { return order_; }
  // Pass 1 over the gradients: from here to the step their factor is 1/scale, and the result of the check for finite
  // gradients holds.
  void unscale(const GradScaler& by, ScalerState* scaler);
  // Adds the gradients to a summary unless *condition, in device memory, is 0.
  void summarize_gradients(const int32_t* condition, TensorSummary* summary);
  // Updates the weights after unscale.
  void step_unscaled(const Schedule& schedule);
  // The scaler was updated, or is destroyed: takes an unscale back whose step is not to come.
  void end_order(const GradScaler& scaler);

  // Lowers the factor so that the norm of all gradients together is at most `max_norm`.
  void clip_grad_norm(double max_norm);
  // Throws STATE if a gradient is not finite, naming it; waits for the device.
  void require_finite();
  // Bounds every gradient, after the factor, to +-`value` from the next step on; infinity lifts the bound.
  void set_clip_value(double value);

  // The Euclidean norm of all gradients as the next step will see them, but for the bound; waits for the device.
  double grad_norm();
  // The factor of stored gradients in the next step; waits for the device.
  double grad_factor() const { return read_state().grad_factor; }

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
  ContextDevice& device() const { return state_.device(); }

  // "adamw", "sgd".
  virtual const char* kind() const noexcept = 0;
  // True if the rule has second moments, so that it bounds gradients to kLargestSquared.
  virtual bool squares_gradients() const noexcept = 0;
  virtual size_t group_count() const noexcept = 0;
  // The learning rate of a group in the next step; waits for the device. REQUIRES: group < group_count().
  double lr(size_t group);
  // The rate that the schedule multiplies, from the next step on.
  virtual void set_lr(size_t group, double lr) = 0;
  int64_t step_count() const;
  // The updates of each parameter: the steps in which it had a gradient and that were not skipped. Waits for the
  // device.
  std::vector<int64_t> update_counts() const;
  // REQUIRES: one for each parameter.
  void set_update_counts(const std::vector<int64_t>& counts);
  const std::vector<OwnedParameter>& parameters() const noexcept { return parameters_; }

  // The settings of a group by name, for a checkpoint (optim/state.h).
  struct NamedNumber {
    const char* name;
    double value;
  };
  virtual std::vector<NamedNumber> group_numbers(size_t group) const = 0;
  // Checks loaded numbers, in the order of group_numbers, and returns the function that puts them in place. Throws
  // FORMAT for numbers that no group can have, and where they need other moments than the group keeps.
  virtual std::function<void()> stage_group_numbers(size_t group, const std::vector<double>& numbers) = 0;
  void set_step_count(int64_t step);
  void list_settings(bool with_position, std::vector<UpdateSetting>& to) const override;
  virtual const Precision& group_precision(size_t group) const noexcept = 0;

  void set_schedule(const ScheduleRule& schedule) noexcept { schedule_ = schedule; }
  const ScheduleRule& schedule() const noexcept { return schedule_; }

 protected:
  // Runs the kernel of this optimizer over the slots. `partials` has one number for each chunk, which it may overwrite.
  virtual void update(const MultiTensor<UpdateSlot>& slots, double* partials, const OptimizerState* state) = 0;
  // The rate of a group that the schedule multiplies.
  virtual double own_lr(size_t group) const noexcept = 0;
  // Adds the parameters as a group; they are free and as they were where this throws.
  void own(const ParameterGroup& group, int32_t number, const Moments& kept);

 private:
  // The parameters with a gradient, as kernels want them; planned anew only when other parameters have one. A gradient
  // may have other memory in each step, because zero_grad releases it: then its place is written into the lists.
  struct Plan {
    std::vector<size_t> parameters;
    DeviceArray<GradSlot> grads;
    DeviceArray<UpdateSlot> updates;    // empty if there are windows
    size_t set = 0;                     // of all parameters if there are no windows
    std::vector<UpdateWindow> windows;  // of state that is offloaded, or of several sets
    DeviceArray<Chunk> chunks;
    DeviceArray<NormNode> nodes;  // one a chunk
    Tensor partials;              // f64, one a chunk
    bool is_recorded = false;     // recorded work reads the lists, which must not change any more

    double* partial_sums() const { return static_cast<double*>(partials.data()); }
    template <class Slot>
    MultiTensor<Slot> list(const DeviceArray<Slot>& slots) const {
      return {
          .slots = slots.device(), .chunks = chunks.device(), .slot_count = slots.size(), .chunk_count = chunks.size()};
    }
  };

  void update_weights(const Schedule& schedule);
  // True if this thread records the work of the optimizer's device.
  bool is_recording() const;
  RecordedUpdate* recorded_update() const;
  // Resets the factor of the gradients and the result of their check.
  void reset_factor();
  const Plan& current_plan();
  // Throws STATE where a gradient is invalid, or there is none.
  void require_gradients() const;
  std::vector<size_t> parameters_with_grad() const;
  Plan make_plan(std::vector<size_t> with_grad) const;
  // kMoved: the same parameters have gradients, but some in other memory, or in another dtype.
  enum class PlanState { kCurrent, kMoved, kOther };
  PlanState plan_state() const;
  // Writes the places of the gradients into the plan's lists. REQUIRES: kMoved, no windows, and not recorded.
  void follow_gradients();
  OptimizerState read_state() const;
  void write_state(const OptimizerState& state);
  void remember_ranks(const Plan& plan);
  OptimizerState* state() const { return static_cast<OptimizerState*>(state_.data()); }
  // Runs pass 1 into `state`, one OptimizerState.
  void check_gradients(const Plan& plan, const Tensor& state);
  void require_same_ranks(const ParameterGroup& group) const;
  // Runs pass 1 into a copy of the state: asking must not change the next step. Waits for the device.
  OptimizerState checked_state();
  void guard_step();
  bool guards_norm() const noexcept { return norm_guard_.max_norm > 0.0 || norm_guard_.max_ratio > 0.0; }
  void guard_norm();
  // Throws STATE for gradients of a scaled loss whose factor has no 1/scale. `advice` tells the call that is missing.
  void require_unscaled(const char* advice) const;

  std::vector<OwnedParameter> parameters_;
  std::vector<Tensor> update_counts_;  // i64, of each group: those of its parameters, which are one after another
  ScheduleRule schedule_;
  Ref<ShardRanks> ranks_;  // that share the parameters; null if this process has all of them
  Tensor state_;           // one OptimizerState, in bytes
  Plan plan_;
  // The parameters whose gradient in the last step was not finite on a rank, and that rank. The gradients of the next
  // step may replace them before the outcome is asked for.
  std::vector<std::pair<size_t, int32_t>> not_finite_ranks_;
  StepOrder order_;
  Guard guard_ = Guard::kNone;
  NormGuard norm_guard_;
  // Known without waiting for the device, for list_settings.
  int64_t steps_called_ = 0;      // since the count was set, skipped ones included
  double schedule_factor_ = 1.0;  // that the caller's schedule returned last
  double clip_norm_ = 0;          // of the last step that was clipped
  double clip_value_ = 0;
};

}  // namespace halftone::optim
