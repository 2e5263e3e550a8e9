// The place where a rank's segment can be found, as the rank writes it to the store of its group.
#pragma once

#include "comm/shared_memory/segment.h"

namespace halftone {

// Plain bytes: ranks of another build see that by the size or by the first member.
struct SegmentAddress {
  char build[128];
  char machine[64];  // and the set of processes in it that see each other's numbers
  uint64_t nonce;
  int32_t process;
  int32_t file;  // of that process
  int32_t rank;
  int32_t size;  // of the group
};

SegmentAddress address_of(const Segment& segment, int rank, int size);

// Throws UNSUPPORTED for a rank on another machine or in another container, and where the system does not let this
// process see its files; COMM for another build or size of the group.
void check_reachable(const SegmentAddress& own, const SegmentAddress& other, const RankNames& names);

// Opens the file of a rank. Throws IO and UNSUPPORTED; the file is empty if the process is gone.
Descriptor open_file(const SegmentAddress& address);

}  // namespace halftone
