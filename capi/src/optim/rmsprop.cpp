#include "halftone/rmsprop.h"

#include "optim/optimizer_calls.h"
#include "optim/rmsprop.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

RmspropGroup checked_group(const htone_rmsprop_options& options) {
  require_not_negative("lr", options.lr);
  require_fraction("alpha", options.alpha);
  require_above_zero("epsilon", options.epsilon);
  require_not_negative("weight_decay", options.weight_decay);
  require_fraction("momentum", options.momentum);
  return {.lr = options.lr,
          .alpha = options.alpha,
          .epsilon = options.epsilon,
          .weight_decay = options.weight_decay,
          .momentum = options.momentum,
          .centered = options.centered != 0 ? 1 : 0,
          .reserved = 0};
}

OptimizerSettings<optim::RmspropRule> rmsprop_settings(const htone_rmsprop_options* options) {
  const htone_rmsprop_options given = options_or_default(options, htone_rmsprop_options(HTONE_RMSPROP_OPTIONS_INIT));
  return {.precision = checked_precision(given), .group = checked_group(given)};
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

OptimizerSettings<optim::RmspropRule> new_rmsprop_settings(const htone_rmsprop_options* options) {
  return rmsprop_settings(&require(options, "options"));
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
  return Call(set_group_settings<optim::RmspropRule>, optimizer, index, as<new_rmsprop_settings>(options));
}
