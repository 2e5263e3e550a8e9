#include "parallel/rounds/gradient_buckets.h"

#include <algorithm>
#include <utility>

#include "tensor/factory.h"

namespace halftone::parallel {

GradientBuckets::GradientBuckets(const std::vector<NamedParameter>& parameters, BucketPlanner planner,
                                 int64_t status_count)
    : parameters_(parameters), planner_(std::move(planner)), status_count_(status_count) {
  std::vector<size_t> order;
  for (size_t i = parameters.size(); i > 0; --i) order.push_back(i - 1);
  lay_out(std::move(order));
}

void GradientBuckets::lay_out(std::vector<size_t> order) {
  std::vector<Bucket> made = make_buckets(order);
  std::vector<Place> places(parameters_.size());
  for (size_t bucket = 0; bucket < made.size(); ++bucket) {
    for (size_t slot = 0; slot < made[bucket].slots.size(); ++slot) {
      places[made[bucket].slots[slot].parameter] = {bucket, slot};
    }
  }
  // From here on nothing fails.
  for (const Bucket& bucket : made) {
    for (const Slot& slot : bucket.slots) {
      AccumulateGrad& leaf = parameters_[slot.parameter].parameter->accumulator();
      if (!leaf.is_frozen()) leaf.memory().take(slot.view, slot.view.dtype());
    }
  }
  order_ = std::move(order);
  buckets_ = std::move(made);
  places_ = std::move(places);
}

std::vector<GradientBuckets::Bucket> GradientBuckets::make_buckets(const std::vector<size_t>& order) const {
  std::vector<GradientSize> gradients;
  for (const NamedParameter& named : parameters_) {
    gradients.push_back({named.parameter->accumulator().memory().dtype(), numel(named.parameter->shape())});
  }
  std::vector<Bucket> made;
  for (const PlannedBucket& planned : planner_(gradients, order)) {
    made.push_back(make_bucket(planned));
  }
  return made;
}

GradientBuckets::Bucket GradientBuckets::make_bucket(const PlannedBucket& planned) const {
  ContextDevice& device = parameters_.front().parameter->device();
  const bool has_gradients = std::any_of(planned.slots.begin(), planned.slots.end(), [&](const auto& slot) {
    return parameters_[slot.parameter].parameter->accumulator().has_grad();
  });
  const Tensor flat = planned.needs_memory || has_gradients
                          ? full(device, planned.dtype, {planned.size}, 0.0, Category::kGradients)
                          : empty_without_memory(device, planned.dtype, {planned.size}, Category::kGradients);
  Bucket bucket = {.flat = flat, .slots = {}};
  for (const auto& [parameter, begin] : planned.slots) {
    const Shape& shape = parameters_[parameter].parameter->shape();
    const Tensor view = bucket.flat.as_strided(shape, contiguous_strides(shape), begin);
    view.set_range(make_ref<RangeVersion>());
    AccumulateGrad& leaf = parameters_[parameter].parameter->accumulator();
    if (leaf.has_grad() && leaf.memory().exists()) copy(leaf.memory().tensor(), view);
    bucket.slots.push_back({parameter, view});
  }
  return bucket;
}

bool GradientBuckets::is_current() const {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    AccumulateGrad& leaf = parameters_[i].parameter->accumulator();
    if (leaf.is_frozen()) continue;
    if (!leaf.memory().exists() || leaf.memory().dtype() != view_of(i).dtype()) return false;
    const Tensor& memory = leaf.memory().tensor();  // its address may be null: memory may be released between steps
    if (memory.storage() != view_of(i).storage() || memory.offset() != view_of(i).offset()) return false;
  }
  return true;
}

Tensor GradientBuckets::status() const {
  const Tensor& flat = buckets_.back().flat;
  return flat.as_strided({status_count_}, {1}, flat.numel() - status_count_);
}

}  // namespace halftone::parallel
