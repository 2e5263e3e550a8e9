#include "optim/optimizer.h"

#include "autograd/placement/shard_ranks.h"
#include "autograd/weights/weights.h"
#include "core/error.h"
#include "optim/recorded_update.h"
#include "optim/step_plan.h"
#include "optim/update_watcher.h"
#include "tensor/launch.h"

namespace halftone::optim {

Optimizer::Optimizer(const ParameterGroup& first)
    : state_(device_of(first)), gradients_(owned_, state_, [this] { return recorded_update(); }) {}

void Optimizer::own(const ParameterGroup& group, const Moments& kept) {
  if (gradients_.order().is_unscaled())
    fail(Code::kState, "optimizer", "optimizer was unscaled; step before a group is added");
  owned_.add(device(), group, kept, *this);
}

void Optimizer::zero_grad() {
  gradients_.reset();  // it was about the gradients that go
  gradients_.bypass_order();
  owned_.zero_grad();
}

Schedule Optimizer::ask_schedule() const {
  owned_.require_gradients();
  if (RecordedUpdate* update = schedule_.host ? recorded_update() : nullptr) return update->schedule(schedule_);
  return schedule_.host ? schedule_.at(step_count()) : schedule_.schedule;
}

void Optimizer::step() {
  gradients_.require_unscaled("step with htone_grad_scaler_step");
  const Schedule schedule = ask_schedule();
  gradients_.check_for_step();
  update_weights(schedule);
  gradients_.bypass_order();
}

void Optimizer::step_unscaled(const Schedule& schedule) {
  update_weights(schedule);
  gradients_.step_order();
}

void Optimizer::update_weights(const Schedule& schedule) {
  const StepPlan& plan = gradients_.plan();
  if (owned_.ranks()) owned_.ranks()->settle();
  if (RecordedUpdate* update = recorded_update()) {
    for (size_t i : plan.parameters()) update->add(owned_[i].parameter());
  }
  for (size_t i : plan.parameters()) owned_[i].parameter().weights().drop_stale_remainder();
  remember_ranks(plan);
  if (schedule_.host) schedule_factor_ = schedule.final_factor;
  if (watcher_ != nullptr) watcher_->before_update(plan.parameters());
  gradients_.guard_norm();
  launch("step", device(), &Kernels::optim, &OptimKernels::begin_step, schedule, plan.grads(), state_.data());
  update_listed(plan);
  if (watcher_ != nullptr) watcher_->after_update(plan.parameters());
  ++steps_called_;
  gradients_.reset();
  if (owned_.ranks()) owned_.ranks()->updated();
}

void Optimizer::update_listed(const StepPlan& plan) {
  if (plan.windows().empty()) {
    update(plan.updates(), plan.partial_sums(), state_.data());
    mark_updated(plan.set(), plan.parameters());
    return;
  }
  update_in_windows(plan.windows(), parameters(),
                    {.update = [&](const auto& slots) { update(slots, plan.partial_sums(), state_.data()); },
                     .updated = [this](size_t set, const auto& numbers) { mark_updated(set, numbers); }});
}

void Optimizer::mark_updated(size_t set, const std::vector<size_t>& numbers) {
  for (size_t i : numbers) owned_[i].parameter().weights().mark_updated();
  for (size_t i : numbers) owned_[i].parameter().weights().mark_current();
  if (owned_.ranks()) owned_.ranks()->updated_set(set);
}

RecordedUpdate* Optimizer::recorded_update() const {
  RecordedStep* const step = RecordedStep::current();
  if (step == nullptr || &step->device() != &device()) return nullptr;
  if (ReplayedState* known = step->state_of(this)) return static_cast<RecordedUpdate*>(known);
  const Ref<const Optimizer> self = Ref<const Optimizer>::share(this);
  auto made = make_ref<RecordedUpdate>(*step, [self] { return self->step_count(); });
  step->add_state(this, made);
  return made.get();
}

void Optimizer::remember_ranks(const StepPlan& plan) {
  not_finite_ranks_.clear();
  for (size_t i : plan.parameters()) {
    const int32_t rank = owned_[i].parameter().accumulator().gradient().not_finite_rank();
    if (rank >= 0) not_finite_ranks_.emplace_back(i, rank);
  }
}

Optimizer::Outcome Optimizer::outcome() const {
  const OptimizerState state = state_.read();
  Outcome outcome = {.skipped = state.skipped != 0,
                     .kind = state.skipped_kind,
                     .norm = state.step_norm,
                     .norm_limit = state.step_norm_limit,
                     .exceeded = state.step_exceeded != 0,
                     .bounded = state.step_bounded != 0 && squares_gradients()};
  const bool has_name = outcome.skipped || outcome.exceeded || outcome.bounded;
  if (!has_name || state.skipped_parameter < 0) return outcome;
  const auto offending = static_cast<size_t>(state.skipped_parameter);
  outcome.offending = owned_[offending].name();
  for (const auto& [parameter, rank] : not_finite_ranks_) {
    if (parameter == offending) outcome.rank = rank;
  }
  return outcome;
}

// The schedule comes first: its callback may add a group, which moves the groups.
double Optimizer::lr(size_t group) {
  const double factor = schedule_.factor(step_count());
  return own_lr(group) * factor;
}

void Optimizer::set_step_count(int64_t step) {
  OptimizerState changed = state_.read();
  changed.step = step;
  state_.write(changed);
  steps_called_ = step;
}

void Optimizer::list_settings(bool with_position, std::vector<UpdateSetting>& to) const {
  const Schedule& schedule = schedule_.schedule;
  to.push_back({0, "kind", 0, kind()});
  if (with_position) to.push_back({0, "step", static_cast<double>(steps_called_)});
  to.push_back({0, "schedule kind", static_cast<double>(schedule.kind)});
  to.push_back({0, "schedule warmup_steps", static_cast<double>(schedule.warmup_steps)});
  to.push_back({0, "schedule total_steps", static_cast<double>(schedule.total_steps)});
  to.push_back({0, "schedule start_factor", schedule.start_factor});
  to.push_back({0, "schedule final_factor", schedule_.host ? schedule_factor_ : schedule.final_factor});
  gradients_.list_settings(to);
  for (size_t group = 0; group < group_count(); ++group) {
    for (const NamedNumber& number : group_numbers(group)) to.push_back({group, number.name, number.value});
    const Precision& precision = group_precision(group);
    to.push_back({group, "compute_dtype", 0, name_of(precision.compute_dtype)});
    to.push_back({group, "grad_dtype", 0, name_of(precision.grad_dtype)});
    to.push_back({group, "moment1_dtype", 0, name_of(precision.moment1_dtype)});
    to.push_back({group, "moment2_dtype", 0, name_of(precision.moment2_dtype)});
    to.push_back({group, "master_storage", static_cast<double>(precision.master)});
    to.push_back({group, "min_8bit_size", static_cast<double>(precision.min_8bit_size)});
  }
}

}  // namespace halftone::optim
