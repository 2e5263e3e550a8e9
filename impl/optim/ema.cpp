#include "optim/ema.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "autograd/placement/shard_ranks.h"
#include "autograd/weights/weights.h"
#include "core/error.h"
#include "ops/dispatch/in_place.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::optim {

namespace {

bool is_narrow(const Weights& weights) { return !weights.is_split() && weights.kept().dtype() != DType::kF32; }

void require_averageable(const std::vector<NamedParameter>& parameters) {
  if (parameters.empty()) fail(Code::kState, "parameters", "parameters holds no parameter to average");
  for (const NamedParameter& named : parameters) {
    if (named.parameter->weights().kept().dtype() == DType::kF64) {
      fail(Code::kDtypeMismatch, "parameters", "parameter %s is f64, expected f32, f16 or bf16", named.name.c_str());
    }
    if (!named.parameter->is_sharded()) named.parameter->weights().materialize();
    if (named.parameter->placement().state_memory()) {
      fail(Code::kUnsupported, "parameters", "the state of parameter %s is offloaded; averages need it in memory",
           named.name.c_str());
    }
    if (&named.parameter->device() != &parameters.front().parameter->device()) {
      fail(Code::kDevice, "parameters", "parameter %s is on another device than the first", named.name.c_str());
    }
  }
}

void require_averageable(const AveragedBuffer& buffer, const ContextDevice& device) {
  const char* name = buffer.name.c_str();
  if (buffer.tensor.dtype() != DType::kF32) {
    fail(Code::kDtypeMismatch, "module", "buffer %s is %s, expected f32", name, name_of(buffer.tensor.dtype()));
  }
  if (&buffer.tensor.device() != &device) fail(Code::kDevice, "module", "buffer %s is on another device", name);
  if (!buffer.tensor.is_contiguous() || buffer.tensor.storage()->is_read_only()) {
    fail(Code::kUnsupported, "module", "buffer %s is not contiguous, or over read-only memory", name);
  }
}

int64_t size_of_shard(const Parameter& parameter) {
  const Shard& shard = parameter.placement().shard();
  return shard.end - shard.begin;
}

UpdateSlot slot_of(const AveragedBuffer& buffer) {
  UpdateSlot slot = {};
  slot.master = static_cast<float*>(buffer.tensor.data());
  slot.compute_dtype = DType::kF32;
  slot.size = buffer.tensor.numel();
  slot.moment1 = {.data = buffer.average.data(), .scales = nullptr, .dtype = DType::kF32};
  return slot;
}

// A sharded parameter has its shard averaged: 1-D, unless it is all of the parameter.
Tensor first_average(const Parameter& parameter) {
  if (!parameter.is_sharded())
    return converted(parameter.weights().read(DType::kF32), DType::kF32, Category::kOptimizer);
  const int64_t size = size_of_shard(parameter);
  const Tensor made = empty(parameter.device(), DType::kF32, {size}, Category::kOptimizer);
  parameter.weights().read_range(0, made);
  const Shape& whole = parameter.shape();
  return size == numel(whole) ? made.as_strided(whole, contiguous_strides(whole), 0) : made;
}

}  // namespace

Ema::Ema(std::vector<NamedParameter> parameters, const EmaSettings& settings, std::vector<AveragedBuffer> buffers)
    : parameters_(std::move(parameters)), settings_(settings) {
  require_averageable(parameters_);
  std::vector<int64_t> sizes;
  for (const NamedParameter& named : parameters_) {
    averages_.push_back(first_average(*named.parameter));
    sizes.push_back(size_of_shard(*named.parameter));
  }
  for (AveragedBuffer& buffer : buffers) {
    if (!is_float(buffer.tensor.dtype())) {
      counters_.push_back(buffer.tensor);
      continue;
    }
    require_averageable(buffer, device());
    require_memory_of_its_own(buffer);
    buffer.average = converted(buffer.tensor, DType::kF32, Category::kOptimizer);
    sizes.push_back(buffer.tensor.numel());
    buffers_.push_back(std::move(buffer));
  }
  saved_.resize(parameters_.size());
  slots_ = {device(), std::vector<UpdateSlot>(sizes.size())};
  chunks_ = {device(), plan_chunks(sizes)};
}

// One swap would exchange shared elements twice.
void Ema::require_memory_of_its_own(const AveragedBuffer& buffer) const {
  const auto require_apart = [&](const Tensor& other, const std::string& name) {
    if (!share_memory(buffer.tensor, other)) return;
    fail(Code::kUnsupported, "module", "buffer %s shares memory with %s", buffer.name.c_str(), name.c_str());
  };
  for (const NamedParameter& named : parameters_) {
    if (!named.parameter->is_sharded()) require_apart(named.parameter->weights().kept(), "parameter " + named.name);
  }
  for (const AveragedBuffer& other : buffers_) require_apart(other.tensor, "buffer " + other.name);
}

void Ema::require_in_place(const char* what) const {
  if (swapped_) fail(Code::kState, "ema", "ema is swapped with the weights; swap back before %s", what);
}

MultiTensor<UpdateSlot> Ema::slots() {
  slots_.change([this](std::vector<UpdateSlot>& slots) {
    for (size_t i = 0; i < parameters_.size(); ++i) {
      Parameter& parameter = *parameters_[i].parameter;
      if (averages_[i].numel() != size_of_shard(parameter) || parameter.placement().state_memory()) {
        fail(Code::kState, "ema", "parameter %s was sharded after its average was made", parameters_[i].name.c_str());
      }
      parameter.weights().drop_stale_remainder();
      slots[i] = weights_slot(parameter);
      slots[i].moment1 = {.data = averages_[i].data(), .scales = nullptr, .dtype = DType::kF32};
    }
    for (size_t i = 0; i < buffers_.size(); ++i) slots[parameters_.size() + i] = slot_of(buffers_[i]);
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
  if (parameters_[index].parameter->is_sharded()) {
    fail(Code::kUnsupported, "ema", "parameter %s is sharded; swap the ema, gather the weights and read those",
         parameters_[index].name.c_str());
  }
  return converted(averages_[index], DType::kF32);
}

void Ema::swap() {
  for (const NamedParameter& named : parameters_) named.parameter->placement().settle();
  if (!swapped_) {
    save_counters();
    save_narrow();
  }
  std::vector<Tensor> narrowed = averages_in_narrow();
  launch("ema_swap", device(), &Kernels::optim, &OptimKernels::swap_average, slots());
  if (swapped_) {
    restore_narrow();
    restore_counters();
  }
  for (size_t i = 0; i < narrowed.size(); ++i) {
    if (narrowed[i].defined()) averages_[i] = std::move(narrowed[i]);
  }
  for (const NamedParameter& named : parameters_) named.parameter->weights().mark_updated();
  for (const AveragedBuffer& buffer : buffers_) buffer.tensor.bump_version();
  for (const NamedParameter& named : parameters_) named.parameter->weights().mark_current();
  swapped_ = !swapped_;
  tell_ranks();
}

// Ranks that share weights bring the gathered ones up to date.
void Ema::tell_ranks() const {
  std::unordered_set<const ShardRanks*> told;
  for (const NamedParameter& named : parameters_) {
    const Ref<ShardRanks>& ranks = named.parameter->placement().ranks();
    if (ranks && told.insert(ranks.get()).second) ranks->updated();
  }
}

// Weights of 16 bits are kept aside while they hold the rounded averages.
void Ema::save_narrow() {
  std::vector<Tensor> saved(parameters_.size());
  for (size_t i = 0; i < saved.size(); ++i) {
    const Weights& weights = parameters_[i].parameter->weights();
    if (!is_narrow(weights)) continue;
    saved[i] = converted(weights.kept(), weights.kept().dtype(), Category::kOptimizer);
  }
  saved_ = std::move(saved);
}

// Parameters converted to 16 bits while swapped: averages_ holds their FP32 weights; widen the current values so that
// the swap can restore both.
std::vector<Tensor> Ema::averages_in_narrow() const {
  std::vector<Tensor> averages(parameters_.size());
  for (size_t i = 0; i < averages.size(); ++i) {
    const Weights& weights = parameters_[i].parameter->weights();
    if (!swapped_ || saved_[i].defined() || !is_narrow(weights)) continue;
    averages[i] = converted(weights.kept(), DType::kF32, Category::kOptimizer);
  }
  return averages;
}

void Ema::restore_narrow() {
  for (size_t i = 0; i < saved_.size(); ++i) {
    if (!saved_[i].defined()) continue;
    copy(saved_[i], parameters_[i].parameter->weights().kept());
    saved_[i] = Tensor();
  }
}

// Batches that run in training mode while swapped count for the averages alone.
void Ema::save_counters() {
  std::vector<Tensor> saved;
  for (const Tensor& counter : counters_) saved.push_back(converted(counter, counter.dtype(), Category::kOptimizer));
  saved_counters_ = std::move(saved);
}

void Ema::restore_counters() {
  for (size_t i = 0; i < saved_counters_.size(); ++i) copy(saved_counters_[i], counters_[i]);
  saved_counters_.clear();
}

}  // namespace halftone::optim
