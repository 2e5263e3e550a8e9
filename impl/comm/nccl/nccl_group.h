// Groups whose ranks have a CUDA device each and exchange data over NCCL.
#pragma once

#include "comm/group/process_group.h"

namespace halftone::nccl {

// The ranks find each other by store and name. Creation waits for the others, as long as an operation does. Returns
//   UNSUPPORTED  the device is no CUDA device, or NCCL is missing or too old
//   and the errors of the ranks' meeting (control/roster.h) and of NCCL.
Status create_nccl_group(const GroupOptions& options, ProcessGroup** out) noexcept;

}  // namespace halftone::nccl
