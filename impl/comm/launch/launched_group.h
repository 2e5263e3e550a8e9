// The group of all processes that a launcher started.
#pragma once

#include "comm/group/group.h"
#include "comm/launch/launch.h"

namespace halftone {

// `options` has neither rank nor size, which the launch has. A CUDA device has an "nccl" group. On another device one
// process is a "single" group; otherwise the launcher names the kind, or a launch with a file store is "shared_memory"
// and any other "gloo". The kind's plugin is loaded if it is not yet. Throws INVALID_ARGUMENT if the launch names no
// store, or none with a secret; and the errors of opening
// the store and the group.
Ref<Group> create_launched_group(ContextDevice& device, const Launch& launch, GroupOptions options);

}  // namespace halftone
