// The head of every message between ranks: the call that it belongs to. Ranks compare the heads before they use any
// data, so ranks that disagree get an error instead of wrong data or an endless wait. Pure functions.
#pragma once

#include <cstdint>

#include "comm/group/rank_names.h"
#include "comm/group/request.h"

namespace halftone {

struct Header {
  uint64_t sequence = 0;  // the number of the operation in its group, from 1
  uint64_t hash = 0;
  int64_t count = 0;
  Operation operation = Operation::kBarrier;
  DType dtype = DType::kU8;
  int32_t argument = 0;  // the reduction, the root, or the rank that a message is for
  int32_t round = 0;     // of the messages between two ranks within one operation

  bool operator==(const Header&) const = default;
};

// The header of a message of an operation of all ranks.
Header header_of(const Request& request, uint64_t hash, uint64_t sequence, int32_t round = 0) noexcept;

// The header of the message `number` between two ranks, from 1 on in each direction.
Header header_of(const Transfer& transfer, uint64_t hash, int32_t rank, uint64_t number) noexcept;

// Returns COMM with both ranks and both calls unless the headers are equal, or those of a send and its receive.
Status compare(int own_rank, const Header& own, int peer_rank, const Header& peer, const RankNames& names) noexcept;

// "all_reduce of 10 f32 with sum" for messages, in its own buffer.
struct CallText {
  CallText(const Header& header, const RankNames& names) noexcept;
  char text[100];
};

// "all_reduce of 10 f32 with sum (operation 3)"
struct HeaderText {
  HeaderText(const Header& header, const RankNames& names) noexcept;
  char text[132];
};

}  // namespace halftone
