// The options of loads of optimizers, and the names of what a load found. Used by the sources that load optimizers.
#pragma once

#include <string>
#include <vector>

#include "base/arguments.h"
#include "halftone/partial_load.h"
#include "optim/load_options.h"

namespace halftone::capi {

inline optim::LoadOptions load_options(const htone_optimizer_load_options* options) {
  const htone_optimizer_load_options given =
      options_or_default(options, htone_optimizer_load_options(HTONE_OPTIMIZER_LOAD_OPTIONS_INIT));
  return {.strict = given.strict != 0, .keep_settings = given.keep_settings != 0};
}

inline const std::vector<std::string>& names_of(const optim::LoadReport& report, htone_load_outcome outcome) {
  switch (outcome) {
    case HTONE_LOAD_DONE:
      return report.loaded;
    case HTONE_LOAD_FRESH:
      return report.fresh;
    case HTONE_LOAD_UNUSED:
      return report.unused;
    default:
      fail(Code::kInvalidArgument, "outcome", "outcome=%d, expected one of HTONE_LOAD_...", outcome);
  }
}

inline const std::string& name_at(const std::vector<std::string>& names, size_t index) {
  require_index(index, names.size());
  return names[index];
}

}  // namespace halftone::capi
