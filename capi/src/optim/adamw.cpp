#include "optim/adamw.h"

#include "halftone/adam.h"
#include "halftone/adamw.h"
#include "optim/optimizer_calls.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

AdamwGroup checked_adamw_group(const htone_adamw_options& options) {
  require_not_negative("lr", options.lr);
  require_fraction("beta1", options.beta1);
  require_fraction("beta2", options.beta2);
  require_above_zero("epsilon", options.epsilon);
  require_not_negative("weight_decay", options.weight_decay);
  return {.lr = options.lr,
          .beta1 = options.beta1,
          .beta2 = options.beta2,
          .epsilon = options.epsilon,
          .weight_decay = options.weight_decay};
}

// AdamW and Adam share the options. Their default weight decay differs.
template <class Rule>
OptimizerSettings<Rule> settings_of(const htone_adamw_options* options, const htone_adamw_options& defaults) {
  const htone_adamw_options given = options_or_default(options, defaults);
  return {.precision = checked_precision(given), .group = checked_adamw_group(given)};
}

OptimizerSettings<optim::AdamWRule> adamw_settings(const htone_adamw_options* options) {
  return settings_of<optim::AdamWRule>(options, htone_adamw_options(HTONE_ADAMW_OPTIONS_INIT));
}
OptimizerSettings<optim::AdamRule> adam_settings(const htone_adamw_options* options) {
  return settings_of<optim::AdamRule>(options, htone_adamw_options(HTONE_ADAM_OPTIONS_INIT));
}

// AdamW and Adam share this, too.
template <class Rule>
htone_adamw_options adamw_group(optim::Optimizer& optimizer, size_t index) {
  const OptimizerSettings<Rule> settings = group_settings<Rule>(optimizer, index);
  const AdamwGroup& group = settings.group;
  htone_adamw_options options = HTONE_ADAMW_OPTIONS_INIT;
  show_precision(settings.precision, options);
  options.lr = group.lr;
  options.beta1 = group.beta1;
  options.beta2 = group.beta2;
  options.epsilon = group.epsilon;
  options.weight_decay = group.weight_decay;
  return options;
}

template <class Rule>
OptimizerSettings<Rule> new_adamw_settings(const htone_adamw_options* options) {
  return settings_of<Rule>(&require(options, "options"), htone_adamw_options(HTONE_ADAMW_OPTIONS_INIT));
}

}  // namespace

htone_status htone_optimizer_create_adamw(htone_module* module, const htone_adamw_options* options,
                                          htone_optimizer** out) {
  return Call(make_optimizer<optim::AdamWRule>, module, as<adamw_settings>(options), out);
}

htone_status htone_optimizer_create_adamw_over(htone_parameters* parameters, const htone_adamw_options* options,
                                               htone_optimizer** out) {
  return Call(make_optimizer<optim::AdamWRule>, parameters, as<adamw_settings>(options), out);
}

htone_status htone_optimizer_add_adamw_group(htone_optimizer* optimizer, htone_parameters* parameters,
                                             const htone_adamw_options* options) {
  return Call(add_group<optim::AdamWRule>, optimizer, parameters, as<adamw_settings>(options));
}

htone_status htone_optimizer_adamw_group(htone_optimizer* optimizer, size_t index, htone_adamw_options* out_options) {
  return Call(adamw_group<optim::AdamWRule>, optimizer, index, structure(out_options));
}

htone_status htone_optimizer_set_adamw_group(htone_optimizer* optimizer, size_t index,
                                             const htone_adamw_options* options) {
  return Call(set_group_settings<optim::AdamWRule>, optimizer, index,
              as<new_adamw_settings<optim::AdamWRule>>(options));
}

htone_status htone_optimizer_create_adam(htone_module* module, const htone_adamw_options* options,
                                         htone_optimizer** out) {
  return Call(make_optimizer<optim::AdamRule>, module, as<adam_settings>(options), out);
}

htone_status htone_optimizer_create_adam_over(htone_parameters* parameters, const htone_adamw_options* options,
                                              htone_optimizer** out) {
  return Call(make_optimizer<optim::AdamRule>, parameters, as<adam_settings>(options), out);
}

htone_status htone_optimizer_add_adam_group(htone_optimizer* optimizer, htone_parameters* parameters,
                                            const htone_adamw_options* options) {
  return Call(add_group<optim::AdamRule>, optimizer, parameters, as<adam_settings>(options));
}

htone_status htone_optimizer_adam_group(htone_optimizer* optimizer, size_t index, htone_adamw_options* out_options) {
  return Call(adamw_group<optim::AdamRule>, optimizer, index, structure(out_options));
}

htone_status htone_optimizer_set_adam_group(htone_optimizer* optimizer, size_t index,
                                            const htone_adamw_options* options) {
  return Call(set_group_settings<optim::AdamRule>, optimizer, index, as<new_adamw_settings<optim::AdamRule>>(options));
}
