// A call of an operation as texts name it, without its operands: what the record of operations keeps of it. Plain data.
#pragma once

#include "comm/collectives/header.h"

namespace halftone {

struct CallRecord {
  // The messages of a batch that texts name.
  static constexpr int32_t kNamed = 4;

  CallRecord() = default;
  explicit CallRecord(const Request& request) noexcept;

  Header header;  // for kMessages, `count` is the number of messages
  struct {
    Operation direction;
    int32_t peer;
    int64_t count;
    DType dtype;
  } messages[kNamed] = {};
};

// "all_reduce of 10 f32 with sum", "send of 4 f32 to rank 1", or "batch of 2 messages: send of 4 f32 to rank 1, receive
// of 4 f32 from rank 2", in its own buffer.
struct RecordText {
  RecordText(const CallRecord& call, const RankNames& names) noexcept;
  char text[240];
};

}  // namespace halftone
