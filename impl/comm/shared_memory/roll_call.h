// Brings the ranks of a group together: each writes its segment's address to the store, and maps the others' segments.
// Used on the caller's thread, which it blocks.
#pragma once

#include <vector>

#include "comm/group/process_group.h"
#include "comm/shared_memory/process_watch.h"
#include "comm/shared_memory/segment.h"

namespace halftone {

// Another rank: its memory, mapped here, and its process.
struct SharedRank {
  Segment segment;
  ProcessWatch process;
};

// Returns the ranks by number when all have mapped each other; the entry of this rank is empty. Afterwards nothing of
// the group is left in the store, so that its name is free. A rank that fails tells those that know it. Throws
//   COMM         the rank is taken, or another rank has another build or size of the group
//   PEER_LOST    a rank has ended meanwhile
//   TIMEOUT      ranks are missing; the message lists them
//   UNSUPPORTED  a rank is where this one cannot map its memory
// and the errors of the store.
std::vector<SharedRank> call_roll(const GroupOptions& options, Segment& own);

}  // namespace halftone
