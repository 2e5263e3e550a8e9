#include "halftone/rmsprop.h"

#include "optim/optimizer_calls.h"
#include "optim/rmsprop.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

RmspropGroup checked_group(const htone_rmsprop_options& options) {
  return within_bounds<optim::RmspropRule>({.lr = options.lr,
                                            .alpha = options.alpha,
                                            .epsilon = options.epsilon,
                                            .weight_decay = options.weight_decay,
                                            .momentum = options.momentum,
                                            .centered = options.centered != 0 ? 1 : 0,
                                            .reserved = 0});
}

OptimizerSettings<optim::RmspropRule> checked_rmsprop(const htone_rmsprop_options& options) {
  return {.precision = checked_precision(options), .group = checked_group(options)};
}

OptimizerSettings<optim::RmspropRule> rmsprop_settings(const htone_rmsprop_options* options) {
  return checked_rmsprop(options_or_default(options, htone_rmsprop_options(HTONE_RMSPROP_OPTIONS_INIT)));
}

htone_rmsprop_options rmsprop_group(optim::Optimizer& optimizer, size_t index) {
  const auto [precision, group] = group_settings<optim::RmspropRule>(optimizer, index);
  htone_rmsprop_options options = HTONE_RMSPROP_OPTIONS_INIT;
  show_precision(precision, options);
  options.lr = group.lr;
  options.alpha = group.alpha;
  options.epsilon = group.epsilon;
  options.weight_decay = group.weight_decay;
  options.momentum = group.momentum;
  options.centered = group.centered;
  return options;
}

}  // namespace

htone_status htone_optimizer_create_rmsprop(htone_module* module, const htone_rmsprop_options* options,
                                            htone_optimizer** out) {
  return Call(make_optimizer<optim::RmspropRule>, module, as<rmsprop_settings>(options), out);
}

htone_status htone_optimizer_create_rmsprop_over(htone_parameters* parameters, const htone_rmsprop_options* options,
                                                 htone_optimizer** out) {
  return Call(make_optimizer<optim::RmspropRule>, parameters, as<rmsprop_settings>(options), out);
}

htone_status htone_optimizer_add_rmsprop_group(htone_optimizer* optimizer, htone_parameters* parameters,
                                               const htone_rmsprop_options* options) {
  return Call(add_group<optim::RmspropRule>, optimizer, parameters, as<rmsprop_settings>(options));
}

htone_status htone_optimizer_rmsprop_group(htone_optimizer* optimizer, size_t index,
                                           htone_rmsprop_options* out_options) {
  return Call(rmsprop_group, optimizer, index, structure(out_options));
}

htone_status htone_optimizer_set_rmsprop_group(htone_optimizer* optimizer, size_t index,
                                               const htone_rmsprop_options* options) {
  return Call(change_group<optim::RmspropRule, rmsprop_group, checked_rmsprop>, optimizer, index,
              as<given_options<htone_rmsprop_options>>(options));
}
