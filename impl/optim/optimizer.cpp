#include "optim/optimizer.h"

#include <cmath>
#include <utility>

#include "core/error.h"
#include "optim/recorded_update.h"
#include "optim/shard_check.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::optim {

namespace {

ContextDevice& device_of(const ParameterGroup& group) {
  if (group.parameters.empty()) fail(Code::kState, group.argument, "%s holds no parameter to optimize", group.argument);
  return group.parameters.front().parameter->device();
}

// Master weights are f32, as modules make them; without a master they may be in their 16 bits already.
void require_trainable(const NamedParameter& named, const ContextDevice& device, const ParameterGroup& group) {
  const Parameter& parameter = *named.parameter;
  const DType dtype = parameter.weights().kept().dtype();
  const Precision& wanted = group.precision;
  const bool is_narrow = wanted.master == Master::kNone && dtype == wanted.compute_dtype;
  if (!parameter.weights().is_split() && dtype != DType::kF32 && !is_narrow) {
    fail(Code::kDtypeMismatch, group.argument, "%s: parameter %s is %s, expected f32%s", group.argument,
         named.name.c_str(), name_of(dtype), wanted.master == Master::kNone ? " or compute_dtype" : " master weights");
  }
  if (&parameter.device() != &device) {
    fail(Code::kDevice, group.argument, "%s: parameter %s is on another device than the first", group.argument,
         named.name.c_str());
  }
  if (parameter.placement().state_memory() && wanted.master != Master::kFull) {
    fail(Code::kUnsupported, group.argument, "%s: the state of parameter %s is offloaded: expected master_storage full",
         group.argument, named.name.c_str());
  }
  if (parameter.placement().is_memory_shared() && wanted.master != Master::kFull) {
    fail(Code::kUnsupported, group.argument,
         "%s: parameter %s was made over a tensor, whose memory stays its master: expected master_storage full, or a "
         "parameter made by htone_parameter_create_new",
         group.argument, named.name.c_str());
  }
}

void require_whole(const NamedParameter& named, const ParameterGroup& group) {
  const Shard& shard = named.parameter->placement().shard();
  const bool is_whole = shard.begin == 0 && shard.end == numel(named.parameter->shape());
  if (is_whole && !named.parameter->is_sharded()) return;
  fail(Code::kUnsupported, group.argument,
       "%s: ranks share the update of parameter %s, and this kind of optimizer needs all of it", group.argument,
       named.name.c_str());
}

}  // namespace

Optimizer::Optimizer(const ParameterGroup& first) {
  const OptimizerState initial;
  state_ =
      from_host(device_of(first), DType::kU8, {static_cast<int64_t>(sizeof initial)}, &initial, Category::kOptimizer);
}

// All ranks of one group check all gradients of an optimizer together.
void Optimizer::require_same_ranks(const ParameterGroup& group) const {
  const Ref<ShardRanks>& first = parameters_.empty() ? group.parameters.front().parameter->placement().ranks() : ranks_;
  for (const NamedParameter& named : group.parameters) {
    if (named.parameter->placement().ranks() == first) continue;
    fail(Code::kUnsupported, group.argument,
         "%s: parameter %s is not of the sharded model that the first one is of; expected an optimizer for each model",
         group.argument, named.name.c_str());
  }
}

void Optimizer::own(const ParameterGroup& group, int32_t number, const Moments& kept) {
  if (order_.is_unscaled()) fail(Code::kState, "optimizer", "optimizer was unscaled; step before a group is added");
  device_of(group);  // there is one
  for (const NamedParameter& named : group.parameters) {
    require_trainable(named, device(), group);
    if (kept.factored) require_whole(named, group);
  }
  require_same_ranks(group);
  std::vector<OwnedParameter> owned;
  owned.reserve(group.parameters.size());
  for (const NamedParameter& named : group.parameters) owned.emplace_back(named, number, group.argument);
  make_room(parameters_, owned.size());
  std::vector<OwnedParameter::Arrangement> arrangements;
  arrangements.reserve(owned.size());
  for (const OwnedParameter& parameter : owned) arrangements.push_back(parameter.arrange(group, kept));
  make_room(update_counts_, 1);
  const Tensor counts = full(device(), DType::kI64, {static_cast<int64_t>(owned.size())}, 0.0, Category::kOptimizer);
  // From here on nothing fails: a group is taken whole or not at all.
  ranks_ = group.parameters.front().parameter->placement().ranks();
  for (size_t i = 0; i < owned.size(); ++i) {
    owned[i].install(std::move(arrangements[i]), static_cast<int64_t*>(counts.data()) + i);
    owned[i].parameter().owner().set_rule(this);
    parameters_.push_back(std::move(owned[i]));
  }
  update_counts_.push_back(counts);
}

void Optimizer::zero_grad() {
  reset_factor();  // it was about the gradients that go
  order_.bypass();
  for (const OwnedParameter& owned : parameters_) {
    owned.parameter().zero_grad();
    owned.parameter().placement().set_shard_grad({});
  }
}

Schedule Optimizer::ask_schedule() const {
  require_gradients();
  if (RecordedUpdate* update = schedule_.host ? recorded_update() : nullptr) return update->schedule(schedule_);
  return schedule_.host ? schedule_.at(read_state().step) : schedule_.schedule;
}

void Optimizer::step() {
  require_unscaled("step with htone_grad_scaler_step");
  const Schedule schedule = ask_schedule();
  guard_step();
  update_weights(schedule);
  order_.bypass();
}

// The result of the check stays in the state, where the update finds it. After unscale it is there already.
void Optimizer::guard_step() {
  if (guard_ == Guard::kError) require_finite();
  const bool checks = guard_ == Guard::kSkip || guards_norm();
  if (checks && !order_.is_unscaled()) check_gradients(current_plan(), state_);
}

// A guard that only reports leaves gradients that are not finite to the other guard, and to the scaler.
void Optimizer::guard_norm() {
  if (!guards_norm()) return;
  launch("step", device(), &Kernels::optim, &OptimKernels::guard_norm, norm_guard_, state());
  if (norm_guard_.skips != 0 || guard_ != Guard::kNone || order_.is_unscaled()) return;
  launch("step", device(), &Kernels::optim, &OptimKernels::accept_gradients, state());
}

void Optimizer::set_norm_guard(const NormGuard& guard) {
  norm_guard_ = guard;
  if (!guards_norm()) set_mean_norm({});
}

Optimizer::MeanNorm Optimizer::mean_norm() const {
  const OptimizerState state = read_state();
  return {.mean = state.mean_norm, .count = state.mean_count};
}

void Optimizer::set_mean_norm(const MeanNorm& mean) {
  OptimizerState changed = read_state();
  changed.mean_norm = mean.mean;
  changed.mean_count = mean.count;
  write_state(changed);
}

void Optimizer::require_unscaled(const char* advice) const {
  if (order_.is_unscaled()) return;
  for (const OwnedParameter& owned : parameters_) {
    if (!owned.parameter().has_scaled_grad()) continue;
    fail(Code::kState, "optimizer", "the gradient of %s is that of a scaled loss; %s", owned.name(), advice);
  }
}

void Optimizer::require_finite() {
  const OptimizerState checked = order_.is_unscaled() ? read_state() : checked_state();
  if (checked.found_inf == 0.0f) return;
  const char* what = checked.offending_kind == NotFinite::kNan ? "NaN" : "an infinity";
  if (checked.offending_parameter < 0) fail(Code::kNotFinite, "optimizer", "a gradient of another rank holds %s", what);
  fail(Code::kNotFinite, "optimizer", "the gradient of %s holds %s",
       parameters_[static_cast<size_t>(checked.offending_parameter)].name(), what);
}

void Optimizer::step_unscaled(const Schedule& schedule) {
  update_weights(schedule);
  order_.step();
}

void Optimizer::update_weights(const Schedule& schedule) {
  const Plan& plan = current_plan();
  if (ranks_) ranks_->settle();
  if (RecordedUpdate* update = recorded_update()) {
    for (size_t i : plan.parameters) update->add(parameters_[i].parameter());
  }
  for (size_t i : plan.parameters) parameters_[i].parameter().weights().drop_stale_remainder();
  remember_ranks(plan);
  if (schedule_.host) schedule_factor_ = schedule.final_factor;
  guard_norm();
  launch("step", device(), &Kernels::optim, &OptimKernels::begin_step, schedule, plan.list(plan.grads), state());
  const auto update_listed = [&](const MultiTensor<UpdateSlot>& slots) { update(slots, plan.partial_sums(), state()); };
  const auto mark_updated = [&](size_t set, const std::vector<size_t>& numbers) {
    for (size_t i : numbers) parameters_[i].parameter().weights().mark_updated();
    for (size_t i : numbers) parameters_[i].parameter().weights().mark_current();
    if (ranks_) ranks_->updated_set(set);
  };
  if (plan.windows.empty()) {
    update_listed(plan.list(plan.updates));
    mark_updated(plan.set, plan.parameters);
  } else {
    update_in_windows(plan.windows, parameters_, {.update = update_listed, .updated = mark_updated});
  }
  ++steps_called_;
  reset_factor();
  if (ranks_) ranks_->updated();
}

bool Optimizer::is_recording() const {
  const RecordedStep* const step = RecordedStep::current();
  return step != nullptr && &step->device() == &device();
}

// The part of this optimizer in the recording of this thread; null if there is none.
RecordedUpdate* Optimizer::recorded_update() const {
  if (!is_recording()) return nullptr;
  RecordedStep* const step = RecordedStep::current();
  if (ReplayedState* known = step->state_of(this)) return static_cast<RecordedUpdate*>(known);
  const Ref<const Optimizer> self = Ref<const Optimizer>::share(this);
  auto made = make_ref<RecordedUpdate>(*step, [self] { return self->step_count(); });
  step->add_state(this, made);
  return made.get();
}

void Optimizer::remember_ranks(const Plan& plan) {
  not_finite_ranks_.clear();
  for (size_t i : plan.parameters) {
    const int32_t rank = parameters_[i].parameter().accumulator().gradient().not_finite_rank();
    if (rank >= 0) not_finite_ranks_.emplace_back(i, rank);
  }
}

void Optimizer::check_gradients(const Plan& plan, const Tensor& target) {
  double* partials = plan.partial_sums();
  auto* const state = static_cast<OptimizerState*>(target.data());
  launch("grad_norm", device(), &Kernels::optim, &OptimKernels::grad_norm, plan.list(plan.grads), partials, state);
  if (ranks_) return join_checks(*ranks_, plan.nodes.host(), plan.partials, target);
  launch("grad_norm", device(), &Kernels::optim, &OptimKernels::sum_norm, plan.nodes.device(), partials,
         plan.nodes.size(), state);
}

void Optimizer::unscale(const GradScaler& by, ScalerState* scaler) {
  check_gradients(current_plan(), state_);
  launch("unscale", device(), &Kernels::optim, &OptimKernels::unscale, scaler, state());
  order_.unscale(by);
}

void Optimizer::summarize_gradients(const int32_t* condition, TensorSummary* summary) {
  const Plan& plan = current_plan();
  launch("grad_summary", device(), &Kernels::statistics, &StatisticsKernels::summarize_gradients, plan.list(plan.grads),
         condition, summary);
}

void Optimizer::end_order(const GradScaler& scaler) {
  if (order_.update(scaler) == StepStage::kUnscaled) reset_factor();
}

void Optimizer::reset_factor() { launch("update", device(), &Kernels::optim, &OptimKernels::end_step, state()); }

// Without a scaler the result of the check is dropped: gradients that are not finite reach the weights, as in PyTorch.
void Optimizer::clip_grad_norm(double max_norm) {
  require_unscaled("call htone_grad_scaler_unscale first");
  if (!order_.is_unscaled()) {
    check_gradients(current_plan(), state_);
    launch("clip_grad_norm", device(), &Kernels::optim, &OptimKernels::accept_gradients, state());
  }
  clip_norm_ = max_norm;
  launch("clip_grad_norm", device(), &Kernels::optim, &OptimKernels::clip_by_norm, max_norm, state());
}

void Optimizer::set_clip_value(double value) {
  clip_value_ = value;
  launch("set_clip_value", device(), &Kernels::optim, &OptimKernels::set_clip_value, static_cast<float>(value),
         state());
}

double Optimizer::grad_norm() {
  current_plan();  // there is a gradient
  const OptimizerState current = read_state();
  if (order_.is_unscaled()) return std::sqrt(current.grad_norm_squared) * current.grad_factor;
  return std::sqrt(checked_state().grad_norm_squared) * current.grad_factor;
}

OptimizerState Optimizer::checked_state() {
  const Plan& plan = current_plan();
  OptimizerState scratch;
  const Tensor copy = from_host(device(), DType::kU8, {static_cast<int64_t>(sizeof scratch)}, &scratch);
  check_gradients(plan, copy);
  read_to_host(copy, DType::kU8, &scratch);
  return scratch;
}

Optimizer::Outcome Optimizer::outcome() const {
  const OptimizerState state = read_state();
  Outcome outcome = {.skipped = state.skipped != 0,
                     .kind = state.skipped_kind,
                     .norm = state.step_norm,
                     .norm_limit = state.step_norm_limit,
                     .exceeded = state.step_exceeded != 0,
                     .bounded = state.step_bounded != 0 && squares_gradients()};
  const bool has_name = outcome.skipped || outcome.exceeded || outcome.bounded;
  if (!has_name || state.skipped_parameter < 0) return outcome;
  const auto offending = static_cast<size_t>(state.skipped_parameter);
  outcome.offending = parameters_[offending].name();
  for (const auto& [parameter, rank] : not_finite_ranks_) {
    if (parameter == offending) outcome.rank = rank;
  }
  return outcome;
}

// The schedule comes first: its callback may add a group, which moves the groups.
double Optimizer::lr(size_t group) {
  const double factor = schedule_.factor(read_state().step);
  return own_lr(group) * factor;
}

int64_t Optimizer::step_count() const { return read_state().step; }

void Optimizer::set_step_count(int64_t step) {
  OptimizerState changed = read_state();
  changed.step = step;
  write_state(changed);
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
  to.push_back({0, "clip_grad_norm max_norm", clip_norm_});
  to.push_back({0, "clip_grad_value", clip_value_});
  to.push_back({0, "gradient guard", static_cast<double>(guard_)});
  to.push_back({0, "norm guard max_norm", norm_guard_.max_norm});
  to.push_back({0, "norm guard max_norm_ratio", norm_guard_.max_ratio});
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

std::vector<int64_t> Optimizer::update_counts() const {
  std::vector<int64_t> counts(parameters_.size());
  int64_t* next = counts.data();
  for (const Tensor& group : update_counts_) {
    read_to_host(group, DType::kI64, next);
    next += group.numel();
  }
  return counts;
}

void Optimizer::set_update_counts(const std::vector<int64_t>& counts) {
  const int64_t* next = counts.data();
  for (const Tensor& group : update_counts_) {
    write_from_host(group, DType::kI64, next);
    next += group.numel();
  }
}

OptimizerState Optimizer::read_state() const {
  OptimizerState state;
  read_to_host(state_, DType::kU8, &state);
  return state;
}

void Optimizer::write_state(const OptimizerState& state) { write_from_host(state_, DType::kU8, &state); }

void Optimizer::require_gradients() const {
  bool has_gradient = false;
  for (const OwnedParameter& owned : parameters_) {
    if (owned.parameter().accumulator().gradient().is_invalid()) {
      fail(Code::kState, "optimizer", "the gradient of %s is invalid since a failed backward; call zero_grad",
           owned.name());
    }
    has_gradient = has_gradient || owned.parameter().has_shard_grad();
  }
  if (!has_gradient) fail(Code::kState, "optimizer", "no parameter has a gradient; run backward first");
}

std::vector<size_t> Optimizer::parameters_with_grad() const {
  require_gradients();
  std::vector<size_t> with_grad;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].parameter().has_shard_grad()) with_grad.push_back(i);
  }
  return with_grad;
}

const Optimizer::Plan& Optimizer::current_plan() {
  const PlanState state = plan_state();
  if (state == PlanState::kMoved && plan_.windows.empty() && !plan_.is_recorded) {
    follow_gradients();
  } else if (state != PlanState::kCurrent) {
    plan_ = make_plan(parameters_with_grad());
  }
  plan_.is_recorded = plan_.is_recorded || is_recording();
  return plan_;
}

// Allocates nothing: between unscale and step the plan stays current, and the step cannot fail for memory.
Optimizer::PlanState Optimizer::plan_state() const {
  size_t next = 0;
  bool has_moved = false;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i].parameter();
    if (parameter.accumulator().gradient().is_invalid()) return PlanState::kOther;
    if (!parameter.has_shard_grad()) continue;
    if (next == plan_.parameters.size() || plan_.parameters[next] != i) return PlanState::kOther;
    const GradSlot& slot = plan_.grads.host()[next++];
    has_moved =
        has_moved || slot.grad != parameters_[i].grad_address() || slot.grad_dtype != parameters_[i].grad_dtype();
  }
  if (next == 0 || next != plan_.parameters.size()) return PlanState::kOther;
  return has_moved ? PlanState::kMoved : PlanState::kCurrent;
}

// Allocates nothing either, so that steps whose gradients move cost no more than a transfer of the lists.
void Optimizer::follow_gradients() {
  const auto follow = [this](auto& slots) {
    for (size_t i = 0; i < slots.size(); ++i) {
      const OwnedParameter& owned = parameters_[plan_.parameters[i]];
      slots[i].grad = owned.grad_address();
      slots[i].grad_dtype = owned.grad_dtype();
    }
  };
  plan_.grads.change_on_host(follow);
  plan_.updates.change_on_host(follow);
  const auto upload = [this] {
    plan_.grads.upload();
    plan_.updates.upload();
  };
  const auto drop = [this] { plan_ = Plan(); };  // the device has not got the lists
  try {
    is_recording() ? recorded_update()->upload_later(upload, drop) : upload();
  } catch (...) {
    drop();
    throw;
  }
}

Optimizer::Plan Optimizer::make_plan(std::vector<size_t> with_grad) const {
  std::vector<GradSlot> grads;
  std::vector<UpdateSlot> updates;
  std::vector<ChunkRange> ranges;
  for (size_t i : with_grad) {
    const ChunkRange range = parameters_[i].range();
    grads.push_back({.grad = parameters_[i].grad_address(),
                     .grad_dtype = parameters_[i].grad_dtype(),
                     .parameter = static_cast<int32_t>(i),
                     .size = range.size,
                     .first_block = range.first_block,
                     .updates = parameters_[i].updates()});
    ranges.push_back(range);
  }
  std::vector<Chunk> chunks = plan_chunks(ranges);
  std::vector<NormNode> nodes;
  nodes.reserve(chunks.size());
  for (const Chunk& chunk : chunks) {
    const GradSlot& slot = grads[static_cast<size_t>(chunk.slot)];
    nodes.push_back({.parameter = slot.parameter,
                     .first_block = slot.first_block + chunk.begin / kBlockSize,
                     .blocks = (chunk.end - chunk.begin + kBlockSize - 1) / kBlockSize});
  }
  Plan plan;
  plan.windows = plan_windows(device(), parameters_, with_grad);
  if (ranks_) plan.set = ranks_->set_of(parameters_[with_grad.front()].parameter());
  for (size_t i = 0; i < with_grad.size() && plan.windows.empty(); ++i) {
    updates.push_back(parameters_[with_grad[i]].slot(static_cast<int32_t>(with_grad[i])));
  }
  plan.partials = empty(device(), DType::kF64, {static_cast<int64_t>(chunks.size())}, Category::kOptimizer);
  plan.grads = {device(), std::move(grads)};
  plan.updates = {device(), std::move(updates)};
  plan.chunks = {device(), std::move(chunks)};
  plan.nodes = {device(), std::move(nodes)};
  plan.parameters = std::move(with_grad);
  return plan;
}

}  // namespace halftone::optim
