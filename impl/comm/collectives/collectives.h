// The collective operations of one rank, written once over messages. Used by one thread at a time.
//
// Every operation is one or two rounds. In a round each rank sends one message to each other rank, and looks at the
// header of each message that it gets before it uses the data. So every rank compares its call with every other rank's.
//
// A reduction gives each rank one part of the elements. The rank gets this part of all ranks' inputs, as stored, adds
// in FP32, and rounds once; all_reduce sends the rounded part to every rank in a second round. So 16-bit data takes 16
// bits on the way, each rank sends and receives 2 (n-1)/n of the data, and no order of arrival changes the result.
#pragma once

#include <vector>

#include "comm/collectives/transport.h"

namespace halftone {

class Collectives {
 public:
  explicit Collectives(Transport& transport);

  // Blocks until the operation is done. A failure aborts the group, and is returned by every later call.
  // REQUIRES: check_request(request) is OK
  Status run(const Request& request, Deadline deadline) noexcept;

 private:
  struct Call;

  Status run_rounds(const Call& call) noexcept;
  Status all_reduce(const Call& call) noexcept;
  Status reduce_scatter(const Call& call) noexcept;
  Status all_gather(const Call& call) noexcept;
  Status broadcast(const Call& call) noexcept;
  Status all_to_all(const Call& call) noexcept;
  Status barrier(const Call& call) noexcept;

  template <class Data>
  Status send_to_all(const Call& call, int32_t round, Data&& data) noexcept;
  Status receive(const Call& call, int32_t round, int peer, Message* out) noexcept;
  Status reduce_round(const Call& call, Part own, void* out) noexcept;
  template <class Place>
  Status copy_round(const Call& call, int32_t round, Place&& place) noexcept;
  void release_held() noexcept;

  Transport& transport_;
  const int rank_;
  const int size_;
  uint64_t sequence_ = 0;
  std::vector<const void*> inputs_;  // of all ranks, in a reduction
  std::vector<bool> is_held_;        // messages that were received and not released
};

}  // namespace halftone
