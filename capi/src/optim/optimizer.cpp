#include "halftone/optimizer.h"

#include "base/call.h"
#include "nn/handles.h"
#include "nn/module.h"
#include "optim/handles.h"
#include "optim/optimizer_settings.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

// All parameters of a module but the frozen ones.
optim::ParameterGroup group_of(const nn::Module& module, const optim::Precision& precision) {
  optim::ParameterGroup group{.parameters = {}, .precision = precision, .argument = "module"};
  const ParameterSet all(module.parameters());
  for (const NamedParameter& named : all.items()) {
    if (!named.parameter->is_frozen()) group.parameters.push_back(named);
  }
  return group;
}
optim::ParameterGroup group_of(const ParameterSet& parameters, const optim::Precision& precision) {
  return {.parameters = parameters.items(), .precision = precision};
}

constexpr auto kMake = [](const auto& parameters, const OptimizerSettings& settings) {
  return optim::make_optimizer(settings.kind, group_of(parameters, settings.precision), settings.numbers);
};

void require_kind(const optim::Optimizer& optimizer, optim::Kind kind) {
  if (optim::kind_of(optimizer) == kind) return;
  fail(Code::kInvalidArgument, "options", "options.kind is that of %s, expected the optimizer's, %s",
       optim::name_of(kind), optimizer.kind());
}

void add_group(optim::Optimizer& optimizer, const ParameterSet& parameters, const htone_optimizer_options* options) {
  const OptimizerSettings settings =
      options == nullptr ? checked_settings(defaults_of(optim::kind_of(optimizer))) : optimizer_settings(options);
  require_kind(optimizer, settings.kind);
  optim::add_group(optimizer, group_of(parameters, settings.precision), settings.numbers);
}

htone_optimizer_options group_options(const optim::Optimizer& optimizer, size_t index) {
  require_index(index, optimizer.group_count());
  return options_of(optimizer, index);
}

// Fields that an older caller does not know keep the group's own value.
void set_group(optim::Optimizer& optimizer, size_t index, const htone_optimizer_options* options) {
  require_memory(options, "options");
  const OptimizerSettings settings = checked_settings(options_or_default(options, group_options(optimizer, index)));
  require_kind(optimizer, settings.kind);
  require_same_storage(settings.precision, optimizer.group_precision(index));
  optim::set_group(optimizer, index, settings.numbers);
}

void init_options(htone_optimizer_kind kind, htone_optimizer_options* options) {
  const optim::Kind known = checked_kind(kind, "kind", "kind");
  require(options, "options") = defaults_of(known);
}

}  // namespace

htone_status htone_optimizer_options_init(htone_optimizer_kind kind, htone_optimizer_options* options) {
  return guard([&] { init_options(kind, options); });
}

htone_status htone_optimizer_create(htone_module* module, const htone_optimizer_options* options,
                                    htone_optimizer** out) {
  return Call(kMake, module, as<optimizer_settings>(options), out);
}

htone_status htone_optimizer_create_over(htone_parameters* parameters, const htone_optimizer_options* options,
                                         htone_optimizer** out) {
  return Call(kMake, parameters, as<optimizer_settings>(options), out);
}

htone_status htone_optimizer_add_group(htone_optimizer* optimizer, htone_parameters* parameters,
                                       const htone_optimizer_options* options) {
  return Call(add_group, optimizer, parameters, options);
}

htone_status htone_optimizer_group(htone_optimizer* optimizer, size_t index, htone_optimizer_options* out_options) {
  return Call(group_options, optimizer, index, structure(out_options));
}

htone_status htone_optimizer_set_group(htone_optimizer* optimizer, size_t index,
                                       const htone_optimizer_options* options) {
  return Call(set_group, optimizer, index, options);
}
