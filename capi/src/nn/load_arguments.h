// The options of loads. Used by the sources that load a module's state.
#pragma once

#include "base/arguments.h"
#include "halftone/state_dict.h"

namespace halftone::capi {

inline bool is_strict(const htone_load_options* options) {
  return options_or_default(options, htone_load_options(HTONE_LOAD_OPTIONS_INIT)).strict != 0;
}

}  // namespace halftone::capi
