// The device "meta": the CPU's device without its arithmetic. Programs run on it as on the CPU, in no time, and its
// allocator counts the memory that they would need.
#pragma once

#include "backend/device.h"

namespace halftone::cpu {

// `num_threads` as for the CPU's device, since workspaces depend on it. Throws OUT_OF_MEMORY.
Device* create_meta_device(int num_threads);

}  // namespace halftone::cpu
