#include "halftone/adafactor.h"

#include <cfloat>

#include "optim/adafactor.h"
#include "optim/optimizer_calls.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

AdafactorGroup checked_group(const htone_adafactor_options& options) {
  return within_bounds<optim::AdafactorRule>({.lr = options.lr,
                                              .beta2_decay = options.beta2_decay,
                                              .epsilon1 = options.epsilon1,
                                              .epsilon2 = options.epsilon2,
                                              .clip_threshold = options.clip_threshold,
                                              .weight_decay = options.weight_decay});
}

OptimizerSettings<optim::AdafactorRule> checked_adafactor(const htone_adafactor_options& options) {
  return {.precision = checked_precision(options), .group = checked_group(options)};
}

OptimizerSettings<optim::AdafactorRule> adafactor_settings(const htone_adafactor_options* options) {
  return checked_adafactor(options_or_default(options, htone_adafactor_options(HTONE_ADAFACTOR_OPTIONS_INIT)));
}

htone_adafactor_options adafactor_group(optim::Optimizer& optimizer, size_t index) {
  const auto [precision, group] = group_settings<optim::AdafactorRule>(optimizer, index);
  htone_adafactor_options options = HTONE_ADAFACTOR_OPTIONS_INIT;
  show_precision(precision, options);
  options.lr = group.lr;
  options.beta2_decay = group.beta2_decay;
  options.epsilon1 = group.epsilon1;
  options.epsilon2 = group.epsilon2;
  options.clip_threshold = group.clip_threshold;
  options.weight_decay = group.weight_decay;
  return options;
}

}  // namespace

htone_status htone_optimizer_create_adafactor(htone_module* module, const htone_adafactor_options* options,
                                              htone_optimizer** out) {
  return Call(make_optimizer<optim::AdafactorRule>, module, as<adafactor_settings>(options), out);
}

htone_status htone_optimizer_create_adafactor_over(htone_parameters* parameters, const htone_adafactor_options* options,
                                                   htone_optimizer** out) {
  return Call(make_optimizer<optim::AdafactorRule>, parameters, as<adafactor_settings>(options), out);
}

htone_status htone_optimizer_add_adafactor_group(htone_optimizer* optimizer, htone_parameters* parameters,
                                                 const htone_adafactor_options* options) {
  return Call(add_group<optim::AdafactorRule>, optimizer, parameters, as<adafactor_settings>(options));
}

htone_status htone_optimizer_adafactor_group(htone_optimizer* optimizer, size_t index,
                                             htone_adafactor_options* out_options) {
  return Call(adafactor_group, optimizer, index, structure(out_options));
}

htone_status htone_optimizer_set_adafactor_group(htone_optimizer* optimizer, size_t index,
                                                 const htone_adafactor_options* options) {
  return Call(change_group<optim::AdafactorRule, adafactor_group, checked_adafactor>, optimizer, index,
              as<given_options<htone_adafactor_options>>(options));
}
