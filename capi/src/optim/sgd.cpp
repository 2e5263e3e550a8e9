#include "halftone/sgd.h"

#include "optim/optimizer_calls.h"
#include "optim/sgd.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

SgdGroup checked_group(const htone_sgd_options& options) {
  const SgdGroup group = {.lr = options.lr,
                          .momentum = options.momentum,
                          .dampening = options.dampening,
                          .weight_decay = options.weight_decay,
                          .nesterov = options.nesterov != 0 ? 1 : 0,
                          .reserved = 0};
  within_bounds<optim::SgdRule>(group);
  if (options.nesterov != 0 && (options.momentum == 0.0 || options.dampening != 0.0)) {
    fail(Code::kInvalidArgument, "options", "options.nesterov=%d needs momentum above 0 and no dampening",
         options.nesterov);
  }
  return group;
}

OptimizerSettings<optim::SgdRule> checked_sgd(const htone_sgd_options& options) {
  return {.precision = checked_precision(options), .group = checked_group(options)};
}

OptimizerSettings<optim::SgdRule> sgd_settings(const htone_sgd_options* options) {
  return checked_sgd(options_or_default(options, htone_sgd_options(HTONE_SGD_OPTIONS_INIT)));
}

htone_sgd_options sgd_group(optim::Optimizer& optimizer, size_t index) {
  const auto [precision, group] = group_settings<optim::SgdRule>(optimizer, index);
  htone_sgd_options options = HTONE_SGD_OPTIONS_INIT;
  show_precision(precision, options);
  options.lr = group.lr;
  options.momentum = group.momentum;
  options.dampening = group.dampening;
  options.weight_decay = group.weight_decay;
  options.nesterov = group.nesterov;
  return options;
}

}  // namespace

htone_status htone_optimizer_create_sgd(htone_module* module, const htone_sgd_options* options, htone_optimizer** out) {
  return Call(make_optimizer<optim::SgdRule>, module, as<sgd_settings>(options), out);
}

htone_status htone_optimizer_create_sgd_over(htone_parameters* parameters, const htone_sgd_options* options,
                                             htone_optimizer** out) {
  return Call(make_optimizer<optim::SgdRule>, parameters, as<sgd_settings>(options), out);
}

htone_status htone_optimizer_add_sgd_group(htone_optimizer* optimizer, htone_parameters* parameters,
                                           const htone_sgd_options* options) {
  return Call(add_group<optim::SgdRule>, optimizer, parameters, as<sgd_settings>(options));
}

htone_status htone_optimizer_sgd_group(htone_optimizer* optimizer, size_t index, htone_sgd_options* out_options) {
  return Call(sgd_group, optimizer, index, structure(out_options));
}

htone_status htone_optimizer_set_sgd_group(htone_optimizer* optimizer, size_t index, const htone_sgd_options* options) {
  return Call(change_group<optim::SgdRule, sgd_group, checked_sgd>, optimizer, index,
              as<given_options<htone_sgd_options>>(options));
}
