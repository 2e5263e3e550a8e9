// The owner of the memory of a parameter's master weights.
#pragma once

namespace halftone {

// kShared: the master lives in the caller's buffer, so it must not be moved or replaced.
enum class MasterMemory { kOwn, kShared };

}  // namespace halftone
