#include "optim/owned_parameters.h"

#include <utility>

#include "autograd/placement/shard_ranks.h"
#include "autograd/weights/weights.h"
#include "core/error.h"
#include "tensor/factory.h"

namespace halftone::optim {

namespace {

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

ContextDevice& device_of(const ParameterGroup& group) {
  if (group.parameters.empty()) fail(Code::kState, group.argument, "%s holds no parameter to optimize", group.argument);
  return group.parameters.front().parameter->device();
}

OwnedParameters::OwnedParameters() = default;

OwnedParameters::~OwnedParameters() = default;

// All ranks of one group check all gradients of an optimizer together.
void OwnedParameters::require_same_ranks(const ParameterGroup& group) const {
  const Ref<ShardRanks>& first = list_.empty() ? group.parameters.front().parameter->placement().ranks() : ranks_;
  for (const NamedParameter& named : group.parameters) {
    if (named.parameter->placement().ranks() == first) continue;
    fail(Code::kUnsupported, group.argument,
         "%s: parameter %s is not of the sharded model that the first one is of; expected an optimizer for each model",
         group.argument, named.name.c_str());
  }
}

void OwnedParameters::add(ContextDevice& device, const ParameterGroup& group, const Moments& kept,
                          const UpdateRule& rule) {
  device_of(group);  // there is one
  for (const NamedParameter& named : group.parameters) {
    require_trainable(named, device, group);
    if (kept.factored) require_whole(named, group);
  }
  require_same_ranks(group);
  const auto number = static_cast<int32_t>(update_counts_.size());
  std::vector<OwnedParameter> owned;
  owned.reserve(group.parameters.size());
  for (const NamedParameter& named : group.parameters) owned.emplace_back(named, number, group.argument);
  make_room(list_, owned.size());
  std::vector<OwnedParameter::Arrangement> arrangements;
  arrangements.reserve(owned.size());
  for (const OwnedParameter& parameter : owned) arrangements.push_back(parameter.arrange(group, kept));
  make_room(update_counts_, 1);
  const Tensor counts = full(device, DType::kI64, {static_cast<int64_t>(owned.size())}, 0.0, Category::kOptimizer);
  // From here on nothing fails: a group is taken whole or not at all.
  ranks_ = group.parameters.front().parameter->placement().ranks();
  for (size_t i = 0; i < owned.size(); ++i) {
    owned[i].install(std::move(arrangements[i]), static_cast<int64_t*>(counts.data()) + i);
    owned[i].parameter().owner().set_rule(&rule);
    list_.push_back(std::move(owned[i]));
  }
  update_counts_.push_back(counts);
}

void OwnedParameters::require_gradients() const {
  bool has_gradient = false;
  for (const OwnedParameter& owned : list_) {
    if (owned.parameter().accumulator().gradient().is_invalid()) {
      fail(Code::kState, "optimizer", "the gradient of %s is invalid since a failed backward; call zero_grad",
           owned.name());
    }
    has_gradient = has_gradient || owned.parameter().has_shard_grad();
  }
  if (!has_gradient) fail(Code::kState, "optimizer", "no parameter has a gradient; run backward first");
}

std::vector<size_t> OwnedParameters::with_gradient() const {
  require_gradients();
  std::vector<size_t> with_grad;
  for (size_t i = 0; i < list_.size(); ++i) {
    if (list_[i].parameter().has_shard_grad()) with_grad.push_back(i);
  }
  return with_grad;
}

void OwnedParameters::zero_grad() {
  for (const OwnedParameter& owned : list_) {
    owned.parameter().zero_grad();
    owned.parameter().placement().set_shard_grad({});
  }
}

std::vector<int64_t> OwnedParameters::update_counts() const {
  std::vector<int64_t> counts(list_.size());
  int64_t* next = counts.data();
  for (const Tensor& group : update_counts_) {
    read_to_host(group, DType::kI64, next);
    next += group.numel();
  }
  return counts;
}

void OwnedParameters::set_update_counts(const std::vector<int64_t>& counts) {
  const int64_t* next = counts.data();
  for (const Tensor& group : update_counts_) {
    write_from_host(group, DType::kI64, next);
    next += group.numel();
  }
}

}  // namespace halftone::optim
