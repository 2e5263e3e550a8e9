// The settings of a group as the C API has them.
#pragma once

#include "comm/group/process_group.h"
#include "halftone/comm.h"

namespace halftone::capi {

// All but rank and size. The texts are the caller's.
GroupOptions group_settings(const htone_group_options& options);

}  // namespace halftone::capi
