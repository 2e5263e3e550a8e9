#include "halftone/lion.h"

#include "optim/lion.h"
#include "optim/optimizer_calls.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

LionGroup checked_group(const htone_lion_options& options) {
  require_not_negative("lr", options.lr);
  require_fraction("beta1", options.beta1);
  require_fraction("beta2", options.beta2);
  require_not_negative("weight_decay", options.weight_decay);
  return {.lr = options.lr, .beta1 = options.beta1, .beta2 = options.beta2, .weight_decay = options.weight_decay};
}

OptimizerSettings<optim::LionRule> lion_settings(const htone_lion_options* options) {
  const htone_lion_options given = options_or_default(options, htone_lion_options(HTONE_LION_OPTIONS_INIT));
  return {.precision = checked_precision(given), .group = checked_group(given)};
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
