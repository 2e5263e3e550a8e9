// One operation under way, or one slice of it, with the messages that belong to it. Used by Collectives alone.
#pragma once

#include <cstring>

#include "comm/collectives/algorithm.h"
#include "comm/collectives/operands.h"
#include "comm/collectives/transport.h"

namespace halftone {

// Grace period: the ranks that wait for the missing rank report first, and those that wait for them report later.
inline constexpr std::chrono::milliseconds kPatience{2000};

struct OperationSlice {
  // Messages between two ranks in one slice have different rounds, below this.
  static constexpr uint32_t kMaxRounds = 2 * kMaxGroupSize;

  const Request& request;
  uint64_t hash;
  uint64_t sequence;
  Deadline deadline;
  Part slice;  // of the elements that one rank contributes or receives
  int32_t slice_number = 0;
  Algorithm algorithm = Algorithm::kDirect;

  // The numbers wrap around.
  Header header(int32_t round) const {
    const uint32_t first = static_cast<uint32_t>(slice_number) * kMaxRounds;
    return header_of(request, hash, sequence, static_cast<int32_t>(first + static_cast<uint32_t>(round)));
  }
  // The slice within the elements of rank `index`, of `count` each, that are one after another.
  Part part_of_rank(int index, int64_t count) const {
    return {.begin = index * count + slice.begin, .count = slice.count};
  }
  // Bytes of an operand's part, as a message or as a place for one.
  Message part(const View& view, Part part) const {
    const int64_t bytes = part.count * static_cast<int64_t>(size_of(view.dtype));
    return {.header = {}, .data = address_of(view, part.begin), .bytes = bytes};
  }
};

// Empty parts may have null addresses, which memmove must not see. The two are equal in place.
inline void copy_bytes(const void* from, void* to, int64_t bytes) {
  if (bytes > 0 && from != to) std::memmove(to, from, static_cast<size_t>(bytes));
}

}  // namespace halftone
