// Brings the ranks of a group of threads together: the first to come makes the hub, the others get it. Safe from any
// thread.
#pragma once

#include "comm/group/process_group.h"
#include "comm/threads/hub.h"

namespace halftone {

// The hub of the options' store and name, which this rank has joined. Throws COMM if the rank is taken, or if another
// rank gave another size, and OUT_OF_MEMORY. After leave_hub the same names make a new hub.
Ref<Hub> join_hub(const GroupOptions& options);
// Marks the rank as gone and wakes the others.
void leave_hub(Hub& hub, int rank) noexcept;

}  // namespace halftone
