#include "halftone/lion.h"

#include "guard.h"
#include "optim/lion.h"
#include "optim_options.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

htone_lion_options default_lion() {
  htone_lion_options options = {};
  options.struct_size = sizeof options;
  options.compute_dtype = HTONE_F32;
  options.lr = 1e-4;
  options.beta1 = 0.9;
  options.beta2 = 0.99;
  options.grad_dtype = HTONE_F32;
  options.moment1_dtype = HTONE_F32;
  return options;
}

struct Settings {
  optim::Precision precision;
  LionGroup group;
};

LionGroup checked_group(const htone_lion_options& options) {
  require_not_negative("lr", options.lr);
  require_fraction("beta1", options.beta1);
  require_fraction("beta2", options.beta2);
  require_not_negative("weight_decay", options.weight_decay);
  return {.lr = options.lr, .beta1 = options.beta1, .beta2 = options.beta2, .weight_decay = options.weight_decay};
}

Settings checked_lion(const htone_lion_options* options) {
  const htone_lion_options given = options_or_default(options, default_lion());
  return {.precision = checked_precision(given), .group = checked_group(given)};
}

}  // namespace

htone_status htone_lion_options_init(htone_lion_options* options) {
  return guard([&] { require(options, "options") = default_lion(); });
}

htone_status htone_optimizer_create_lion(htone_module* module, const htone_lion_options* options,
                                         htone_optimizer** out) {
  return guard([&] {
    const nn::Module& model = *unwrap(module, "module");
    const Settings settings = checked_lion(options);
    require(out, "out");
    wrap(out, make_ref<optim::Lion>(group_of(model, settings.precision), settings.group));
  });
}

htone_status htone_optimizer_create_lion_over(htone_parameters* parameters, const htone_lion_options* options,
                                              htone_optimizer** out) {
  return guard([&] {
    const ParameterSet& set = *unwrap(parameters, "parameters");
    const Settings settings = checked_lion(options);
    require(out, "out");
    wrap(out, make_ref<optim::Lion>(group_of(set, settings.precision), settings.group));
  });
}

htone_status htone_optimizer_add_lion_group(htone_optimizer* optimizer, htone_parameters* parameters,
                                            const htone_lion_options* options) {
  return guard([&] {
    optim::Lion& target = unwrap_optimizer<optim::LionRule>(optimizer);
    const ParameterSet& set = *unwrap(parameters, "parameters");
    const Settings settings = checked_lion(options);
    target.add_group(group_of(set, settings.precision), settings.group);
  });
}
