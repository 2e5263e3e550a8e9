// The group kind "gloo": ranks that are processes on one or many machines. Created through the plugin's table. Its
// messages are not encrypted, and while it forms, its ports accept anybody: it needs a network that is trusted.
#pragma once

#include "comm/group/process_group.h"

namespace halftone {

// Waits for all ranks until options.timeout_ns, then connects each with each other. Operands are in host memory. The
// errors are those of Roster::meet and connect_mesh.
Status create_gloo_group(const GroupOptions& options, ProcessGroup** out) noexcept;

}  // namespace halftone
