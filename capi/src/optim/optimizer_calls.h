// The functions that every kind of optimizer has: one over a module, one over a set of parameters, one that adds a
// group, and two that read and change a group's settings. `Rule` is the kind; Settings are its checked options.
#pragma once

#include "base/call.h"
#include "optim/optim_options.h"

namespace halftone::capi {

// Checked options of an optimizer: how parameters are stored, and the numbers of the rule.
template <class Rule>
struct OptimizerSettings {
  optim::Precision precision;
  typename Rule::Group group;
};

// All parameters of a module but the frozen ones.
inline optim::ParameterGroup group_of(const nn::Module& module, const optim::Precision& precision) {
  optim::ParameterGroup group{.parameters = {}, .precision = precision, .argument = "module"};
  const ParameterSet all(module.parameters());
  for (const NamedParameter& named : all.items()) {
    if (!named.parameter->is_frozen()) group.parameters.push_back(named);
  }
  return group;
}
inline optim::ParameterGroup group_of(const ParameterSet& parameters, const optim::Precision& precision) {
  return {.parameters = parameters.items(), .precision = precision};
}

template <class Rule>
inline constexpr auto make_optimizer = [](const auto& parameters, const OptimizerSettings<Rule>& settings) {
  return make_ref<optim::GroupedOptimizer<Rule>>(group_of(parameters, settings.precision), settings.group);
};

// The optimizer by its kind.
template <class Rule>
optim::GroupedOptimizer<Rule>& of_kind(optim::Optimizer& optimizer) {
  auto* target = dynamic_cast<optim::GroupedOptimizer<Rule>*>(&optimizer);
  if (target == nullptr) {
    fail(Code::kInvalidArgument, "optimizer", "optimizer is of kind %s, expected %s", optimizer.kind(), Rule::kName);
  }
  return *target;
}

template <class Rule>
void add_group(optim::Optimizer& optimizer, const ParameterSet& parameters, const OptimizerSettings<Rule>& settings) {
  of_kind<Rule>(optimizer).add_group(group_of(parameters, settings.precision), settings.group);
}

// The settings of a group, for the options that they came from.
template <class Rule>
OptimizerSettings<Rule> group_settings(optim::Optimizer& optimizer, size_t index) {
  const optim::GroupedOptimizer<Rule>& source = of_kind<Rule>(optimizer);
  require_index(index, source.group_count());
  return {.precision = source.group_precision(index), .group = source.group_settings(index)};
}

template <class Rule>
void set_group_settings(optim::Optimizer& optimizer, size_t index, const OptimizerSettings<Rule>& settings) {
  optim::GroupedOptimizer<Rule>& target = of_kind<Rule>(optimizer);
  require_index(index, target.group_count());
  require_same_storage(settings.precision, target.group_precision(index));
  target.set_group_settings(index, settings.group);
}

// Changes a group's settings to the options. Fields that an older caller does not know keep the group's own value:
// `read` returns the options of the group, and `check` the settings of options.
template <class Rule, auto read, auto check>
inline constexpr auto change_group = [](optim::Optimizer& optimizer, size_t index, const auto* options) {
  set_group_settings<Rule>(optimizer, index, check(options_or_default(options, read(optimizer, index))));
};

// The pointer itself, not NULL.
template <class Options>
const Options* given_options(const Options* options) {
  return &require(options, "options");
}

}  // namespace halftone::capi
