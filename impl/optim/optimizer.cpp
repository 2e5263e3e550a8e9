#include "optim/optimizer.h"

#include <cmath>
#include <utility>

#include "backend/formula/schedule.h"
#include "core/error.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::optim {

namespace {

void require_trainable(const std::vector<Ref<Parameter>>& parameters) {
  if (parameters.empty()) fail(Code::kState, "module", "module has no parameters to optimize");
  for (const Ref<Parameter>& parameter : parameters) {
    const Tensor& weights = parameter->weights();
    if (!parameter->is_split() && weights.dtype() != DType::kF32) {
      fail(Code::kDtypeMismatch, "module", "parameter %s is %s, expected f32 master weights", parameter->name(),
           name_of(weights.dtype()));
    }
    if (&weights.device() != &parameters.front()->weights().device()) {
      fail(Code::kDevice, "module", "parameter %s is on another device than the first", parameter->name());
    }
  }
}

// Where the range begins that the parameter's shard names; null where there is no tensor.
void* at_shard(const Parameter& parameter, const Tensor& tensor) {
  if (!tensor.defined()) return nullptr;
  return static_cast<char*>(tensor.data()) + parameter.shard().begin * static_cast<int64_t>(size_of(tensor.dtype()));
}

}  // namespace

Optimizer::Optimizer(std::vector<Ref<Parameter>> parameters, const Precision& precision, double lr)
    : parameters_(std::move(parameters)), base_lr_(lr) {
  require_trainable(parameters_);
  const OptimizerState initial;
  state_ = from_host(device(), DType::kU8, {static_cast<int64_t>(sizeof initial)}, &initial, Category::kOptimizer);
  claim_parameters();
  try {
    arrange(precision);
  } catch (...) {
    for (const Ref<Parameter>& parameter : parameters_) parameter->unclaim();
    throw;
  }
}

Optimizer::~Optimizer() {
  for (const Ref<Parameter>& parameter : parameters_) {
    if (!parameter->is_split()) parameter->set_compute(Tensor());  // nobody keeps it current any more
    parameter->unclaim();
  }
}

void Optimizer::claim_parameters() {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i]->claim()) continue;
    for (size_t j = 0; j < i; ++j) parameters_[j]->unclaim();
    fail(Code::kState, "module", "parameter %s belongs to another optimizer, or stands in module twice",
         parameters_[i]->name());
  }
}

void Optimizer::arrange(const Precision& precision) {
  for (const Ref<Parameter>& parameter : parameters_) {
    parameter->set_grad_dtype(precision.grad_dtype);
    parameter->allocate();
    if (precision.splits_master) {
      parameter->split();
    } else {
      parameter->join();
    }
  }
  if (!precision.splits_master) make_copies(precision.compute_dtype);
}

void Optimizer::make_copies(DType compute_dtype) {
  if (compute_dtype == DType::kF32) return;
  std::vector<Tensor> copies;
  for (const Ref<Parameter>& parameter : parameters_) {
    copies.push_back(converted(parameter->master(), compute_dtype, Category::kParameters));
  }
  for (size_t i = 0; i < copies.size(); ++i) parameters_[i]->set_compute(std::move(copies[i]));
}

MomentSlot Moments::slot(size_t parameter) const {
  return {.data = values[parameter].data(),
          .scales = scales.empty() ? nullptr : static_cast<float*>(scales[parameter].data()),
          .dtype = values[parameter].dtype()};
}

Moments Optimizer::zero_moments(DType dtype) const {
  Moments moments;
  for (const Ref<Parameter>& parameter : parameters_) {
    moments.values.push_back(full(device(), dtype, parameter->shape(), 0.0, Category::kOptimizer));
    if (size_of(dtype) != 1) continue;
    const int64_t blocks = (numel(parameter->shape()) + kBlockSize - 1) / kBlockSize;
    moments.scales.push_back(full(device(), DType::kF32, {blocks}, 0.0, Category::kOptimizer));
  }
  return moments;
}

void Optimizer::zero_grad() {
  if (has_verdict_) forget_verdict();  // it was about the gradients that go
  for (const Ref<Parameter>& parameter : parameters_) parameter->zero_grad();
}

void Optimizer::step() {
  const Plan& plan = current_plan();
  for (size_t i : plan.parameters) parameters_[i]->drop_stale_remainder();
  launch("step", device(), &Kernels::optim, &OptimKernels::begin_step, schedule_, state());
  update(device(),
         {.slots = plan.updates.data(),
          .chunks = plan.chunks.data(),
          .slot_count = static_cast<int64_t>(plan.updates.size()),
          .chunk_count = static_cast<int64_t>(plan.chunks.size())},
         state());
  forget_verdict();
  for (size_t i : plan.parameters) parameters_[i]->mark_updated();
}

void Optimizer::check_gradients(const Plan& plan, OptimizerState* target) {
  const MultiTensor<GradSlot> grads = {.slots = plan.grads.data(),
                                       .chunks = plan.chunks.data(),
                                       .slot_count = static_cast<int64_t>(plan.grads.size()),
                                       .chunk_count = static_cast<int64_t>(plan.chunks.size())};
  launch("grad_norm", device(), &Kernels::optim, &OptimKernels::grad_norm, grads,
         static_cast<double*>(plan.partials.data()), target);
}

void Optimizer::unscale(ScalerState* scaler) {
  check_gradients(current_plan(), state());
  launch("unscale", device(), &Kernels::optim, &OptimKernels::unscale, scaler, state());
  has_verdict_ = true;
}

void Optimizer::forget_verdict() {
  launch("update", device(), &Kernels::optim, &OptimKernels::end_step, state());
  has_verdict_ = false;
}

// Without a scaler nobody heeds the verdict: gradients that are not finite go into the weights, as PyTorch lets them.
void Optimizer::clip_grad_norm(double max_norm) {
  if (!has_verdict_) {
    check_gradients(current_plan(), state());
    OptimizerState unheeded = read_state();
    unheeded.found_inf = 0.0f;
    unheeded.grad_factor = 1.0f;
    write_state(unheeded);
  }
  launch("clip_grad_norm", device(), &Kernels::optim, &OptimKernels::clip_by_norm, max_norm, state());
}

void Optimizer::set_clip_value(double value) {
  OptimizerState changed = read_state();
  changed.clip_value = static_cast<float>(value);
  write_state(changed);
}

double Optimizer::grad_norm() {
  const Plan& plan = current_plan();
  const OptimizerState current = read_state();
  if (has_verdict_) return std::sqrt(current.grad_norm_squared) * current.grad_factor;
  // A look must not leave a verdict for the next step.
  OptimizerState scratch;
  const Tensor copy = from_host(device(), DType::kU8, {static_cast<int64_t>(sizeof scratch)}, &scratch);
  check_gradients(plan, static_cast<OptimizerState*>(copy.data()));
  read_to_host(copy, DType::kU8, &scratch);
  return std::sqrt(scratch.grad_norm_squared) * current.grad_factor;
}

Optimizer::Outcome Optimizer::outcome() const {
  const OptimizerState state = read_state();
  if (state.skipped == 0) return {};
  return {.skipped = true,
          .kind = state.offending_kind,
          .offending = parameters_[static_cast<size_t>(state.offending_parameter)].get()};
}

double Optimizer::lr() const { return base_lr_ * schedule_factor(schedule_, read_state().step); }

int64_t Optimizer::step_count() const { return read_state().step; }

OptimizerState Optimizer::read_state() const {
  OptimizerState state;
  read_to_host(state_, DType::kU8, &state);
  return state;
}

void Optimizer::write_state(const OptimizerState& state) { write_from_host(state_, DType::kU8, &state); }

std::vector<size_t> Optimizer::parameters_with_grad() const {
  std::vector<size_t> with_grad;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = *parameters_[i];
    if (parameter.is_invalid()) {
      fail(Code::kState, "optimizer", "the gradient of %s is invalid since a failed backward; call zero_grad",
           parameter.name());
    }
    if (parameter.has_grad()) with_grad.push_back(i);
  }
  if (with_grad.empty()) fail(Code::kState, "optimizer", "no parameter has a gradient; run backward first");
  return with_grad;
}

const Optimizer::Plan& Optimizer::current_plan() {
  std::vector<size_t> with_grad = parameters_with_grad();
  if (with_grad != plan_.parameters) plan_ = make_plan(std::move(with_grad));
  return plan_;
}

Optimizer::Plan Optimizer::make_plan(std::vector<size_t> with_grad) {
  Plan plan;
  std::vector<int64_t> sizes;
  for (size_t i : with_grad) {
    plan.updates.push_back(make_slot(i));
    const UpdateSlot& slot = plan.updates.back();
    plan.grads.push_back(
        {.grad = slot.grad, .grad_dtype = slot.grad_dtype, .parameter = static_cast<int32_t>(i), .size = slot.size});
    sizes.push_back(slot.size);
  }
  plan.chunks = plan_chunks(sizes);
  plan.partials = empty(device(), DType::kF64, {static_cast<int64_t>(plan.chunks.size())}, Category::kOptimizer);
  plan.parameters = std::move(with_grad);
  return plan;
}

UpdateSlot Optimizer::make_slot(size_t index) {
  const Parameter& parameter = *parameters_[index];
  const Tensor& grad = parameter.grad();
  const Tensor& compute = parameter.compute();
  UpdateSlot slot = {};
  slot.grad = at_shard(parameter, grad);
  slot.grad_dtype = grad.dtype();
  slot.master = static_cast<float*>(at_shard(parameter, parameter.master()));
  slot.compute = at_shard(parameter, compute);
  slot.compute_dtype = compute.defined() ? compute.dtype() : DType::kF32;
  slot.remainder = static_cast<int16_t*>(at_shard(parameter, parameter.remainder()));
  slot.size = parameter.shard().end - parameter.shard().begin;
  slot.parameter = static_cast<int32_t>(index);
  slot.seed = device().context->seed();
  slot.first_block = parameter.shard().begin / kBlockSize;
  add_moments(index, slot);
  return slot;
}

}  // namespace halftone::optim
