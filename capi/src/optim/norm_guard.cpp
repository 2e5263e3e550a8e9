#include "halftone/norm_guard.h"

#include "base/call.h"
#include "optim/handles.h"
#include "optim/optimizer.h"
#include "optim/setting_checks.h"
#include "tensor/state_dict.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

NormGuard norm_guard(const htone_norm_guard_options* options) {
  const htone_norm_guard_options given =
      options_or_default(options, htone_norm_guard_options(HTONE_NORM_GUARD_OPTIONS_INIT));
  require_setting(given.max_norm >= 0.0 && std::isfinite(given.max_norm), "max_norm", given.max_norm,
                  "a finite number of at least 0");
  require_setting(given.max_norm_ratio == 0.0 || (given.max_norm_ratio >= 1.0 && std::isfinite(given.max_norm_ratio)),
                  "max_norm_ratio", given.max_norm_ratio, "0, or a finite number of at least 1");
  require_setting(given.decay >= 0.0 && given.decay < 1.0, "decay", given.decay, "a number in [0, 1)");
  require_setting(given.warmup_steps >= 1 && given.warmup_steps <= kLargestCount, "warmup_steps",
                  static_cast<double>(given.warmup_steps), "1 to 2^62");
  return {.max_norm = given.max_norm,
          .max_ratio = given.max_norm_ratio,
          .decay = given.decay,
          .warmup_steps = given.warmup_steps,
          .skips = given.report_only != 0 ? 0 : 1};
}

void set_norm_guard(optim::Optimizer& optimizer, const NormGuard& guard) {
  optimizer.gradients().set_norm_guard(guard);
}

}  // namespace

htone_status htone_optimizer_set_norm_guard(htone_optimizer* optimizer, const htone_norm_guard_options* options) {
  return Call(set_norm_guard, optimizer, as<norm_guard>(options));
}
