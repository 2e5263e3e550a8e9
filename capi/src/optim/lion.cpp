#include "halftone/lion.h"

#include "optim/lion.h"
#include "optim/optimizer_calls.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

LionGroup checked_group(const htone_lion_options& options) {
  return within_bounds<optim::LionRule>(
      {.lr = options.lr, .beta1 = options.beta1, .beta2 = options.beta2, .weight_decay = options.weight_decay});
}

OptimizerSettings<optim::LionRule> checked_lion(const htone_lion_options& options) {
  return {.precision = checked_precision(options), .group = checked_group(options)};
}

OptimizerSettings<optim::LionRule> lion_settings(const htone_lion_options* options) {
  return checked_lion(options_or_default(options, htone_lion_options(HTONE_LION_OPTIONS_INIT)));
}

htone_lion_options lion_group(optim::Optimizer& optimizer, size_t index) {
  const auto [precision, group] = group_settings<optim::LionRule>(optimizer, index);
  htone_lion_options options = HTONE_LION_OPTIONS_INIT;
  show_precision(precision, options);
  options.lr = group.lr;
  options.beta1 = group.beta1;
  options.beta2 = group.beta2;
  options.weight_decay = group.weight_decay;
  return options;
}

}  // namespace

htone_status htone_optimizer_create_lion(htone_module* module, const htone_lion_options* options,
                                         htone_optimizer** out) {
  return Call(make_optimizer<optim::LionRule>, module, as<lion_settings>(options), out);
}

htone_status htone_optimizer_create_lion_over(htone_parameters* parameters, const htone_lion_options* options,
                                              htone_optimizer** out) {
  return Call(make_optimizer<optim::LionRule>, parameters, as<lion_settings>(options), out);
}

htone_status htone_optimizer_add_lion_group(htone_optimizer* optimizer, htone_parameters* parameters,
                                            const htone_lion_options* options) {
  return Call(add_group<optim::LionRule>, optimizer, parameters, as<lion_settings>(options));
}

htone_status htone_optimizer_lion_group(htone_optimizer* optimizer, size_t index, htone_lion_options* out_options) {
  return Call(lion_group, optimizer, index, structure(out_options));
}

htone_status htone_optimizer_set_lion_group(htone_optimizer* optimizer, size_t index,
                                            const htone_lion_options* options) {
  return Call(change_group<optim::LionRule, lion_group, checked_lion>, optimizer, index,
              as<given_options<htone_lion_options>>(options));
}
