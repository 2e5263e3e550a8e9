// The meeting place of a group of threads: messages are addresses in the memory that all threads share, so that a
// receiver reads the sender's operands without a copy in between. Data under one mutex; threads_transport.h has the
// rules.
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "comm/collectives/transport.h"
#include "core/ref.h"

namespace halftone {

// Messages from one rank to another. released <= taken <= sent; a message from `released` to `taken` is being read.
struct Channel {
  Message messages[Transport::kCapacity];
  uint64_t sent = 0;
  uint64_t taken = 0;
  uint64_t released = 0;
};

struct Member {
  std::condition_variable changed;  // something happened that this rank may wait for
  uint64_t step = 1;                // of this rank (Transport::begin)
  bool has_joined = false;
  bool has_left = false;
};

struct Hub final : RefCounted {
  explicit Hub(int ranks)
      : size(ranks), members(static_cast<size_t>(ranks)), channels(static_cast<size_t>(ranks) * members.size()) {}

  Member& member(int rank) { return members[static_cast<size_t>(rank)]; }
  Channel& channel(int from, int to) {
    return channels[static_cast<size_t>(from) * members.size() + static_cast<size_t>(to)];
  }

  const int size;
  std::mutex mutex;                        // guards the members below
  Status failure;                          // of the first abort
  uint64_t failed_step = UINT64_MAX;  // the first that fails with it
  std::vector<Member> members;
  std::vector<Channel> channels;
};

}  // namespace halftone
