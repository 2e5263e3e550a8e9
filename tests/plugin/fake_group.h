// The process group of the fake plugin: one rank, and only all_reduce of contiguous f32, which it runs when it is
// waited for.
#pragma once

#include "comm/group/process_group.h"

namespace fake_plugin {

halftone::Status create_group(const halftone::GroupOptions& options, halftone::ProcessGroup** out) noexcept;

}  // namespace fake_plugin
