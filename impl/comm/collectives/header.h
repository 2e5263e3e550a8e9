// The head of every message between ranks: the call that it belongs to. Ranks compare the heads before they use any
// data, so ranks that disagree get an error instead of wrong data or an endless wait. Pure functions.
#pragma once

#include <cstdint>

#include "comm/collectives/request.h"

namespace halftone {

struct Header {
  uint64_t sequence = 0;  // the number of the operation in its group, from 1
  uint64_t hash = 0;
  int64_t count = 0;
  Operation operation = Operation::kBarrier;
  DType dtype = DType::kU8;
  int32_t argument = 0;  // the reduction or the root
  int32_t round = 0;     // of the messages between two ranks within one operation

  bool operator==(const Header&) const = default;
};

Header header_of(const Request& request, uint64_t sequence, int32_t round) noexcept;

// Returns COMM with both ranks and both calls unless the headers are equal.
Status compare(int own_rank, const Header& own, int peer_rank, const Header& peer) noexcept;

// "all_reduce of 10 f32 with sum (operation 3)" for messages, in its own buffer.
struct HeaderText {
  explicit HeaderText(const Header& header) noexcept;
  char text[100];
};

}  // namespace halftone
