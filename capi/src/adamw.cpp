#include "halftone/adamw.h"

#include "adamw_options.h"
#include "guard.h"
#include "optim/adamw.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

htone_adamw_options defaults() { return default_adamw(0.01); }

}  // namespace

htone_status htone_adamw_options_init(htone_adamw_options* options) {
  return guard([&] { require(options, "options") = defaults(); });
}

htone_status htone_optimizer_create_adamw(htone_module* module, const htone_adamw_options* options,
                                          htone_optimizer** out) {
  return guard([&] {
    const nn::Module& model = *unwrap(module, "module");
    const AdamwSettings settings = checked_adamw(options, defaults());
    require(out, "out");
    wrap(out, make_ref<optim::AdamW>(group_of(model, settings.precision), settings.group));
  });
}

htone_status htone_optimizer_create_adamw_over(htone_parameters* parameters, const htone_adamw_options* options,
                                               htone_optimizer** out) {
  return guard([&] {
    const ParameterSet& set = *unwrap(parameters, "parameters");
    const AdamwSettings settings = checked_adamw(options, defaults());
    require(out, "out");
    wrap(out, make_ref<optim::AdamW>(group_of(set, settings.precision), settings.group));
  });
}

htone_status htone_optimizer_add_adamw_group(htone_optimizer* optimizer, htone_parameters* parameters,
                                             const htone_adamw_options* options) {
  return guard([&] {
    optim::AdamW& target = unwrap_optimizer<optim::AdamWRule>(optimizer);
    const ParameterSet& set = *unwrap(parameters, "parameters");
    const AdamwSettings settings = checked_adamw(options, defaults());
    target.add_group(group_of(set, settings.precision), settings.group);
  });
}
