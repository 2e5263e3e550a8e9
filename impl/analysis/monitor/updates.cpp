#include "analysis/monitor/updates.h"

#include <algorithm>
#include <utility>

#include "autograd/placement/placement.h"
#include "autograd/weights/weights.h"

namespace halftone::analysis {

namespace {

Tensor flat(const Tensor& contiguous) { return contiguous.as_strided({contiguous.numel()}, {1}, contiguous.offset()); }

// The gradient that the update reads: that of the shard where ranks share the parameter. 1-D.
Tensor gradient_of(const Parameter& parameter) {
  const Tensor& reduced = parameter.placement().shard_grad();
  return flat(reduced.defined() ? reduced : parameter.grad());
}

// The dtype of the numbers that are updated: of the master, or of 16 bits without one. Split weights are FP32.
DType dtype_of(const Weights& weights) { return weights.is_split() ? DType::kF32 : weights.kept().dtype(); }

Tensor copied_weights(const Weights& weights) {
  const Tensor& kept = weights.kept();
  const Tensor copy = empty(kept.device(), DType::kF32, {kept.numel()}, Category::kWorkspace);
  weights.read_range(0, copy);
  return copy;
}

// In FP32, without a copy where the weights have it.
Tensor updated_weights(const Weights& weights) {
  const bool has_f32 = !weights.is_split() && weights.kept().dtype() == DType::kF32;
  return has_f32 ? flat(weights.kept()) : copied_weights(weights);
}

}  // namespace

// The first name of a parameter that has several.
void Updates::name_parameters() {
  names_.clear();
  for (const NamedParameter& named : module_.contents()->parameters) {
    names_.emplace(named.parameter.get(), named.name);
  }
}

// One that is not the module's has the name that the optimizer knows.
const std::string& Updates::name_of_parameter(const optim::OwnedParameter& owned) {
  return names_.try_emplace(&owned.parameter(), owned.name()).first->second;
}

void Updates::before(const std::vector<size_t>& numbers, const Parts& parts, Sample& sample) {
  name_parameters();
  for (const size_t number : numbers) {
    if (parts.gradients) add_gradient(number, parts, sample);
    if (parts.parameters) add_weights(number, sample);
  }
}

void Updates::add_gradient(size_t number, const Parts& parts, Sample& sample) {
  const optim::OwnedParameter& owned = optimizer_.parameters()[number];
  const Tensor gradient = gradient_of(owned.parameter());
  const size_t record = sample.add(TensorKind::kGradient, name_of_parameter(owned), gradient.dtype());
  sample.summarize(record, gradient);
  if (!parts.keeps_gradients) return;
  gradients_.push_back(
      {.parameter = number, .record = record, .tensor = converted(gradient, gradient.dtype(), Category::kWorkspace)});
}

void Updates::add_weights(size_t number, Sample& sample) {
  const optim::OwnedParameter& owned = optimizer_.parameters()[number];
  const Weights& weights = owned.parameter().weights();
  const size_t record = sample.add(TensorKind::kParameter, name_of_parameter(owned), dtype_of(weights));
  weights_.push_back({.parameter = number, .record = record, .tensor = copied_weights(weights)});
  sample.summarize(record, weights_.back().tensor);
}

void Updates::after(Sample& sample) {
  for (Kept& kept : std::exchange(weights_, {})) {
    const Parameter& parameter = optimizer_.parameters()[kept.parameter].parameter();
    const Tensor before = std::exchange(kept.tensor, Tensor());
    sample.summarize_update(kept.record, before, updated_weights(parameter.weights()), gradient_of(parameter));
  }
}

void Updates::compare(const std::vector<size_t>& numbers, Sample& sample) {
  for (Kept& kept : std::exchange(gradients_, {})) {
    if (!std::binary_search(numbers.begin(), numbers.end(), kept.parameter)) continue;
    const Parameter& parameter = optimizer_.parameters()[kept.parameter].parameter();
    const Tensor before = std::exchange(kept.tensor, Tensor());
    const Tensor next = gradient_of(parameter);
    if (next.numel() == before.numel()) sample.compare(kept.record, before, next);
  }
}

void Updates::forget() noexcept {
  weights_.clear();
  gradients_.clear();
}

}  // namespace halftone::analysis
