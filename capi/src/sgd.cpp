#include "halftone/sgd.h"

#include "guard.h"
#include "optim/sgd.h"
#include "optim_options.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

htone_sgd_options default_sgd() {
  htone_sgd_options options = {};
  options.struct_size = sizeof options;
  options.compute_dtype = HTONE_F32;
  options.lr = 1e-3;
  options.grad_dtype = HTONE_F32;
  options.moment1_dtype = HTONE_F32;
  return options;
}

struct Settings {
  optim::Precision precision;
  SgdGroup group;
};

SgdGroup checked_group(const htone_sgd_options& options) {
  require_not_negative("lr", options.lr);
  require_fraction("momentum", options.momentum);
  require_setting(options.dampening >= 0.0 && options.dampening <= 1.0, "dampening", options.dampening,
                  "a number in [0, 1]");
  require_not_negative("weight_decay", options.weight_decay);
  if (options.nesterov != 0 && (options.momentum == 0.0 || options.dampening != 0.0)) {
    fail(Code::kInvalidArgument, "options", "options.nesterov=%d needs momentum above 0 and no dampening",
         options.nesterov);
  }
  return {.lr = options.lr,
          .momentum = options.momentum,
          .dampening = options.dampening,
          .weight_decay = options.weight_decay,
          .nesterov = options.nesterov != 0 ? 1 : 0,
          .reserved = 0};
}

Settings checked_sgd(const htone_sgd_options* options) {
  const htone_sgd_options given = options_or_default(options, default_sgd());
  return {.precision = checked_precision(given), .group = checked_group(given)};
}

}  // namespace

htone_status htone_sgd_options_init(htone_sgd_options* options) {
  return guard([&] { require(options, "options") = default_sgd(); });
}

htone_status htone_optimizer_create_sgd(htone_module* module, const htone_sgd_options* options, htone_optimizer** out) {
  return guard([&] {
    const nn::Module& model = *unwrap(module, "module");
    const Settings settings = checked_sgd(options);
    require(out, "out");
    wrap(out, make_ref<optim::Sgd>(group_of(model, settings.precision), settings.group));
  });
}

htone_status htone_optimizer_create_sgd_over(htone_parameters* parameters, const htone_sgd_options* options,
                                             htone_optimizer** out) {
  return guard([&] {
    const ParameterSet& set = *unwrap(parameters, "parameters");
    const Settings settings = checked_sgd(options);
    require(out, "out");
    wrap(out, make_ref<optim::Sgd>(group_of(set, settings.precision), settings.group));
  });
}

htone_status htone_optimizer_add_sgd_group(htone_optimizer* optimizer, htone_parameters* parameters,
                                           const htone_sgd_options* options) {
  return guard([&] {
    optim::Sgd& target = unwrap_optimizer<optim::SgdRule>(optimizer);
    const ParameterSet& set = *unwrap(parameters, "parameters");
    const Settings settings = checked_sgd(options);
    target.add_group(group_of(set, settings.precision), settings.group);
  });
}
