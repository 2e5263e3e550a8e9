// The collective operations of one rank, written once over messages. Used by one thread at a time.
//
// An operation runs by the algorithm that is the fastest by the group's own cost of messages. Directly it is one or two
// rounds, in each of which a rank sends one message to each other rank; tree.cpp and ring.cpp tell of the others. A
// rank looks at the header of each message that it gets before it uses the data. So no rank finishes an operation
// unless all ranks made the same call.
//
// A reduction gives each rank one part of the elements. The rank gets this part of all ranks' inputs, as stored, adds
// in FP32, and rounds once; all_reduce sends the rounded part to every rank in a second round. So 16-bit data takes 16
// bits on the way, each rank sends and receives 2 (n-1)/n of the data, and no order of arrival changes the result.
//
// A transport with bounded memory gets a large operation in slices: ranges of the elements that one rank contributes or
// receives, one after another. Elements do not depend on each other, so slices do not change the result.
#pragma once

#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/collectives/operation_slice.h"
#include "comm/collectives/traffic.h"

namespace halftone {

class Collectives {
 public:
  explicit Collectives(Transport& transport);

  // Blocks until the operation is done, or for a send alone until its data is copied: then a message is in flight until
  // the next operation of all ranks, or finish(). A failure aborts the group, and is returned by every later call.
  // `hash` as in CallOptions. REQUIRES: check_request(request) is OK
  Status run(const Request& request, uint64_t hash, Deadline deadline) noexcept;
  // Waits until the transport needs nothing of this rank's memory for the messages that it has sent. Comes last.
  void finish(Deadline deadline) noexcept;
  // Safe from any thread.
  GroupCounters counters() const noexcept { return traffic_.counters(); }
  // As ProcessGroup::link_cost.
  Status link_cost(LinkCost* out) const noexcept;
  // Runs this algorithm instead of the fastest, if the operation has it. Equal on all ranks. For tests and benchmarks,
  // before the first operation.
  void force(Algorithm algorithm) noexcept { forced_ = algorithm; }

 private:
  using Call = OperationSlice;
  // Sent, and not yet received: the message points into the copy.
  struct Letter {
    std::unique_ptr<std::byte[]> data;
    int peer;
  };
  struct Batch {
    std::span<const Transfer> transfers;
    uint64_t hash;
    Deadline deadline;
  };
  // Messages that measure, and the shortest times.
  struct Trials {
    int64_t bytes;
    int32_t round;  // of the next message
    double best_ns = std::numeric_limits<double>::infinity();
    double next_ns = std::numeric_limits<double>::infinity();  // of the second of two messages
  };
  // An operation of all ranks sends at most so many messages to each peer between two drains.
  static constexpr int kMaxMessages = 2;
  static constexpr int kMaxLetters = Transport::kCapacity - kMaxMessages;
  // The round of the first message of a group, which measures. Later ones count down.
  static constexpr int32_t kFirstTrial = -1;

  Algorithm algorithm_for(const Request& request) const noexcept;
  int64_t slice_count(const Request& request, Algorithm algorithm) const noexcept;
  Status run_slices(const Request& request, uint64_t hash, Deadline deadline) noexcept;
  Status run_rounds(const Call& call) noexcept;
  Status all_reduce(const Call& call) noexcept;
  Status reduce_scatter(const Call& call) noexcept;
  Status all_gather(const Call& call) noexcept;
  Status broadcast(const Call& call) noexcept;
  Status all_to_all(const Call& call) noexcept;
  Status barrier(const Call& call) noexcept;
  Status drain(Deadline deadline) noexcept;
  Status fail(const Status& reason) noexcept;

  template <class Data>
  Status send_to_all(const Call& call, int32_t round, Data&& data) noexcept;
  Status receive(const Call& call, int32_t round, int peer, const Message& place, Message* out) noexcept;
  Status receive(const Header& own, Deadline deadline, int peer, const Message& place, Message* out) noexcept;
  Status timeout_of(int peer, const Header& own) const noexcept;
  Status reduce_round(const Call& call, Part own, void* out) noexcept;
  template <class Place>
  Status copy_round(const Call& call, int32_t round, Place&& place) noexcept;
  void release_held() noexcept;

  // The ranks are a circle. The rank `distance` places after this one, and this rank's distance from another:
  int rank_after(int distance) const noexcept { return (rank_ + distance + size_) % size_; }
  unsigned number_from(int rank) const noexcept { return static_cast<unsigned>((rank_ - rank + size_) % size_); }
  Status send_to(const Call& call, int32_t round, int peer, Message message) noexcept;
  Status receive_into(const Call& call, int32_t round, int peer, const Message& target) noexcept;
  Status drain_round(const Call& call) noexcept;
  // messages.cpp
  Status run_messages(const Request& request, uint64_t hash, Deadline deadline) noexcept;
  Status send_copy(const Batch& batch) noexcept;
  Status exchange(const Batch& batch) noexcept;
  Status exchange_with_ready(const Batch& batch, size_t* left) noexcept;
  Status await_peer(const Batch& batch) noexcept;
  Status await_received(int peer, Deadline deadline) noexcept;
  Status send(const Transfer& transfer, uint64_t hash, Message message) noexcept;
  Status receive(const Transfer& transfer, const Batch& batch) noexcept;
  // tree.cpp
  Status disseminate(const Call& call, std::byte* table, int64_t entry_bytes) noexcept;
  Status gather_table(const Call& call, std::byte** out_table, int64_t* out_bytes) noexcept;
  Status reserve(int64_t bytes) noexcept;
  Status all_reduce_by_tree(const Call& call) noexcept;
  Status all_gather_by_tree(const Call& call) noexcept;
  Status broadcast_by_tree(const Call& call) noexcept;
  Status barrier_by_tree(const Call& call) noexcept;
  // ring.cpp
  template <class Place>
  Status pass_around(const Call& call, int32_t first_round, int first, bool has_all, Place&& place) noexcept;
  Status all_gather_by_ring(const Call& call) noexcept;
  Status broadcast_by_ring(const Call& call) noexcept;
  // link_cost.cpp
  Status measure_once(const Call& call) noexcept;
  Status measure(const Call& call) noexcept;
  Status send_trial(const Call& call, const Trials& trials, int i) noexcept;
  Status receive_trial(const Call& call, const Trials& trials, int i) noexcept;
  Status run_burst(const Call& call, Trials* trials) noexcept;
  Status run_exchange(const Call& call, Trials* trials) noexcept;
  Status agree_on_cost(const Call& call, int32_t round) noexcept;

  Transport& transport_;
  const RankNames& names_;
  const int rank_;
  const int size_;
  uint64_t sequence_ = 0;
  std::vector<const void*> inputs_;  // of all ranks, in a reduction
  std::vector<bool> is_held_;        // messages that were received and not released
  std::vector<uint64_t> sent_;       // messages to each rank
  std::vector<uint64_t> received_;   // and from each
  std::vector<Letter> letters_;
  std::vector<bool> is_over_;           // the transfers of a batch
  std::vector<Awaited> awaited_;        // by the others
  std::unique_ptr<std::byte[]> table_;  // of all ranks' operands in a tree; messages point into it until a drain
  int64_t table_bytes_ = 0;
  std::optional<Algorithm> forced_;
  LinkCost cost_;
  std::atomic<bool> has_cost_{false};  // then cost_ does not change any more
  Traffic traffic_;
};

}  // namespace halftone
