#include "optim/ema.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::optim {

namespace {

bool is_narrow(const Parameter& parameter) {
  return !parameter.is_split() && parameter.weights().dtype() != DType::kF32;
}

void require_averageable(const std::vector<NamedParameter>& parameters) {
  if (parameters.empty()) fail(Code::kState, "parameters", "parameters holds no parameter to average");
  for (const NamedParameter& named : parameters) {
    if (named.parameter->weights().dtype() == DType::kF64) {
      fail(Code::kDtypeMismatch, "parameters", "parameter %s is f64, expected f32, f16 or bf16", named.name.c_str());
    }
    if (named.parameter->is_deferred()) named.parameter->materialize();
    const Shard& shard = named.parameter->shard();
    if (named.parameter->is_sharded() || shard.begin != 0 || shard.end != numel(named.parameter->shape())) {
      fail(Code::kUnsupported, "parameters", "parameter %s is sharded; averages need whole parameters",
           named.name.c_str());
    }
    if (&named.parameter->device() != &parameters.front().parameter->device()) {
      fail(Code::kDevice, "parameters", "parameter %s is on another device than the first", named.name.c_str());
    }
  }
}

}  // namespace

Ema::Ema(std::vector<NamedParameter> parameters, const EmaSettings& settings)
    : parameters_(std::move(parameters)), settings_(settings) {
  require_averageable(parameters_);
  std::vector<int64_t> sizes;
  for (const NamedParameter& named : parameters_) {
    averages_.push_back(converted(named.parameter->read(DType::kF32), DType::kF32, Category::kOptimizer));
    sizes.push_back(numel(named.parameter->shape()));
  }
  saved_.resize(parameters_.size());
  slots_ = {device(), std::vector<UpdateSlot>(parameters_.size())};
  chunks_ = {device(), plan_chunks(sizes)};
}

void Ema::require_in_place(const char* what) const {
  if (swapped_) fail(Code::kState, "ema", "ema is swapped with the weights; swap back before %s", what);
}

MultiTensor<UpdateSlot> Ema::slots() {
  slots_.change([this](std::vector<UpdateSlot>& slots) {
    for (size_t i = 0; i < parameters_.size(); ++i) {
      Parameter& parameter = *parameters_[i].parameter;
      parameter.drop_stale_remainder();
      slots[i] = weights_slot(parameter);
      slots[i].moment1 = {.data = averages_[i].data(), .scales = nullptr, .dtype = DType::kF32};
    }
  });
  return {
      .slots = slots_.device(), .chunks = chunks_.device(), .slot_count = slots_.size(), .chunk_count = chunks_.size()};
}

void Ema::update() {
  require_in_place("an update");
  const double n = static_cast<double>(updates_ + 1);
  const double decay = settings_.warms_up ? std::min(settings_.decay, (1 + n) / (10 + n)) : settings_.decay;
  launch("ema_update", device(), &Kernels::optim, &OptimKernels::average, slots(), 1.0 - decay);
  updates_ += 1;
}

Tensor Ema::read(size_t index) const {
  require_in_place("averages are read");
  return converted(averages_[index], DType::kF32);
}

void Ema::swap() {
  if (!swapped_) save_narrow();
  std::vector<Tensor> narrowed = averages_in_narrow();
  launch("ema_swap", device(), &Kernels::optim, &OptimKernels::swap_average, slots());
  if (swapped_) restore_narrow();
  for (size_t i = 0; i < narrowed.size(); ++i) {
    if (narrowed[i].defined()) averages_[i] = std::move(narrowed[i]);
  }
  for (const NamedParameter& named : parameters_) named.parameter->mark_updated();
  for (const NamedParameter& named : parameters_) named.parameter->mark_current();
  swapped_ = !swapped_;
}

// Weights of 16 bits are kept aside while they hold the rounded averages.
void Ema::save_narrow() {
  std::vector<Tensor> saved(parameters_.size());
  for (size_t i = 0; i < saved.size(); ++i) {
    const Parameter& parameter = *parameters_[i].parameter;
    if (!is_narrow(parameter)) continue;
    saved[i] = converted(parameter.weights(), parameter.weights().dtype(), Category::kOptimizer);
  }
  saved_ = std::move(saved);
}

// Parameters converted to 16 bits while swapped: averages_ holds their FP32 weights; widen the current values so that
// the swap can restore both.
std::vector<Tensor> Ema::averages_in_narrow() const {
  std::vector<Tensor> averages(parameters_.size());
  for (size_t i = 0; i < averages.size(); ++i) {
    const Parameter& parameter = *parameters_[i].parameter;
    if (!swapped_ || saved_[i].defined() || !is_narrow(parameter)) continue;
    averages[i] = converted(parameter.weights(), DType::kF32, Category::kOptimizer);
  }
  return averages;
}

void Ema::restore_narrow() {
  for (size_t i = 0; i < saved_.size(); ++i) {
    if (!saved_[i].defined()) continue;
    copy(saved_[i], parameters_[i].parameter->weights());
    saved_[i] = Tensor();
  }
}

}  // namespace halftone::optim
