#include "optim/adamw.h"

#include "halftone/adam.h"
#include "halftone/adamw.h"
#include "optim/optimizer_calls.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

// AdamW and Adam share the options and their bounds. Their default weight decay differs.
template <class Rule>
OptimizerSettings<Rule> checked_adamw(const htone_adamw_options& options) {
  return {.precision = checked_precision(options),
          .group = within_bounds<Rule>({.lr = options.lr,
                                        .beta1 = options.beta1,
                                        .beta2 = options.beta2,
                                        .epsilon = options.epsilon,
                                        .weight_decay = options.weight_decay})};
}

OptimizerSettings<optim::AdamWRule> adamw_settings(const htone_adamw_options* options) {
  return checked_adamw<optim::AdamWRule>(options_or_default(options, htone_adamw_options(HTONE_ADAMW_OPTIONS_INIT)));
}
OptimizerSettings<optim::AdamRule> adam_settings(const htone_adamw_options* options) {
  return checked_adamw<optim::AdamRule>(options_or_default(options, htone_adamw_options(HTONE_ADAM_OPTIONS_INIT)));
}

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
  return Call(change_group<optim::AdamWRule, adamw_group<optim::AdamWRule>, checked_adamw<optim::AdamWRule>>, optimizer,
              index, as<given_options<htone_adamw_options>>(options));
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
  return Call(change_group<optim::AdamRule, adamw_group<optim::AdamRule>, checked_adamw<optim::AdamRule>>, optimizer,
              index, as<given_options<htone_adamw_options>>(options));
}
