// Ranks that communicate: each holds a ProcessGroup and calls its operations in the same order. A pure interface of
// plain types, because a plugin may implement it (NCCL, Gloo). One thread at a time calls a group's operations; abort()
// and the handles of operations are safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/group/request.h"
#include "comm/group/work.h"

namespace halftone {

class KeyValueStore;

class GroupListener {
 public:
  // An operation of this rank failed, not because this rank's group was destroyed. Comes once, on any thread, before
  // the operation's handle is done.
  virtual void on_failure(const Status& reason) noexcept = 0;

 protected:
  ~GroupListener() = default;
};

inline constexpr int64_t kDefaultGroupTimeoutNs = 60'000'000'000;
inline constexpr int64_t kDefaultHeartbeatNs = 5'000'000'000;
inline constexpr int32_t kMaxGroupSize = 4096;

// Must be equal on all ranks, but for `device`, `rank`, `interface` and `listener`.
struct GroupOptions {
  Device* device = nullptr;        // its memory holds the operands; outlives the group
  KeyValueStore* store = nullptr;  // outlives the group
  const char* name = "world";      // tells the groups of one store apart; read during creation alone
  int32_t rank = 0;
  int32_t size = 1;
  int64_t timeout_ns = kDefaultGroupTimeoutNs;  // of each operation
  // A rank that gives no sign of life for three times as long is lost. 0: only operations notice lost ranks. Groups of
  // threads have no use for it.
  int64_t heartbeat_ns = kDefaultHeartbeatNs;
  // The address or the interface that other machines reach this rank at, for groups over a network: "192.168.1.7" or
  // "eth0"; null takes the address of the machine's name, or the loopback. Read during creation alone.
  const char* interface = nullptr;
  // Messages carry a checksum, and a message that was changed in transit is COMM. For groups over a network. A group
  // over NCCL compares the calls of all ranks instead, also those after its first ones.
  int32_t checks_data = 0;
  // The numbers by which messages name the group's ranks, `size` of them; null: the group's own. For the parts of a
  // group. Read during creation alone.
  const int32_t* run_ranks = nullptr;
  GroupListener* listener = nullptr;  // outlives the group; may be null
};

// Settings of one operation.
struct CallOptions {
  // The operation reads and writes after the work that this stream has queued so far; null if nothing is queued.
  Stream* stream = nullptr;
  // Compared among the ranks, such as a hash of the parameters' order.
  uint64_t hash = 0;
  // 1: sums of floats are those of the tree (see ReduceOp), also where the group would be faster with an order of its
  // own. Equal on all ranks.
  int32_t is_deterministic = 0;
};

// Counts what a rank has exchanged with the others since the group was created.
struct GroupCounters {
  int64_t operations = 0;  // that are done
  int64_t messages_sent = 0;
  int64_t bytes_sent = 0;  // of operands, without the heads of messages
  int64_t bytes_received = 0;
};

// How long messages take, equal on all ranks. A rank that sends several without waiting pays message_ns for the first,
// next_ns for each further one, and byte_ns for each byte of all.
struct LinkCost {
  double message_ns = 0;
  double next_ns = 0;
  double byte_ns = 0;
  int32_t is_shared = 0;  // a message to all ranks takes as long as to one, as in memory that they share
};

// Errors that a handle returns:
//   COMM       ranks called different operations, counts, dtypes or hashes; the message names both ranks and calls
//   PEER_LOST  a rank was destroyed or aborted
//   TIMEOUT    a rank did not take part in time; the message names it
//   CANCELLED  this rank's group was destroyed first
// After a failure every later operation of the group, on every rank, returns that failure.
class ProcessGroup {
 public:
  // Ends the operations that are not done with CANCELLED, and makes the other ranks' operations that need this rank
  // return PEER_LOST. Comes after every other call.
  virtual void destroy() noexcept = 0;
  // "threads"; lives as long as the group.
  virtual const char* kind() const noexcept = 0;
  virtual int32_t rank() const noexcept = 0;
  virtual int32_t size() const noexcept = 0;

  // Starts an operation and returns at once with a handle in `out_work`, which is null on failure. Views are
  // contiguous; their memory must stay valid, and must not be written, until the operation is done. `in` and `out` may
  // be the same elements, and must not overlap otherwise. The functions below say what each operation does.
  virtual Status start(const CallOptions& options, const Request& request, Work** out_work) noexcept = 0;

  // The reduction of all ranks' `in`, on every rank.
  Status all_reduce(const CallOptions& options, ReduceOp op, const View& in, const View& out,
                    Work** out_work) noexcept {
    return start(options, {.operation = Operation::kAllReduce, .reduce_op = op, .in = in, .out = out}, out_work);
  }
  // All ranks' `in`, one after another: out has size() * in.numel() elements. In place, `in` is this rank's part of
  // `out`.
  Status all_gather(const CallOptions& options, const View& in, const View& out, Work** out_work) noexcept {
    return start(options, {.operation = Operation::kAllGather, .in = in, .out = out}, out_work);
  }
  // Part rank() of the reduction: in has size() * out.numel() elements. In place, `out` is this rank's part of `in`.
  Status reduce_scatter(const CallOptions& options, ReduceOp op, const View& in, const View& out,
                        Work** out_work) noexcept {
    return start(options, {.operation = Operation::kReduceScatter, .reduce_op = op, .in = in, .out = out}, out_work);
  }
  // Replaces `data` by that of rank `root`.
  Status broadcast(const CallOptions& options, int32_t root, const View& data, Work** out_work) noexcept {
    return start(options, {.operation = Operation::kBroadcast, .peer = root, .in = data, .out = data}, out_work);
  }
  // Part r of `out` becomes part rank() of rank r's `in`. Both have the same number of elements, which size() divides,
  // and must not overlap.
  Status all_to_all(const CallOptions& options, const View& in, const View& out, Work** out_work) noexcept {
    return start(options, {.operation = Operation::kAllToAll, .in = in, .out = out}, out_work);
  }
  // Messages to and from other ranks, done when all of them are: a send when the peer has received it. A rank's
  // messages to one peer arrive in the order of its calls, and of the transfers of one call. The transfers of a batch
  // do not wait for each other otherwise, so their order cannot deadlock. To rank() itself is INVALID_ARGUMENT.
  Status batch(const CallOptions& options, const Transfer* transfers, int32_t count, Work** out_work) noexcept {
    return start(options, {.operation = Operation::kMessages, .transfers = transfers, .transfer_count = count},
                 out_work);
  }
  // A batch of one message. Done when the memory may be written again, which may be before the peer has received it.
  // Over NCCL it is done when the peer has received it. So two ranks that exchange messages over NCCL call one batch
  // each, or agree on who sends first.
  Status send(const CallOptions& options, int32_t peer, const View& data, Work** out_work) noexcept {
    const Transfer message{.direction = Operation::kSend, .peer = peer, .data = data};
    return batch(options, &message, 1, out_work);
  }
  // Replaces `data` by that of the next send of rank `peer` to this rank, which has the same dtype and count.
  Status receive(const CallOptions& options, int32_t peer, const View& data, Work** out_work) noexcept {
    const Transfer message{.direction = Operation::kReceive, .peer = peer, .data = data};
    return batch(options, &message, 1, out_work);
  }
  // Done when every rank has called it.
  Status barrier(const CallOptions& options, Work** out_work) noexcept {
    return start(options, {.operation = Operation::kBarrier}, out_work);
  }

  // Makes every operation that this rank has not finished return PEER_LOST, on every rank, with this rank and the
  // reason.
  virtual void abort(const char* reason) noexcept = 0;
  // Like abort(), but the operations return `reason` itself.
  virtual void fail(const Status& reason) noexcept = 0;
  // Safe from any thread.
  virtual GroupCounters counters() const noexcept = 0;
  // The cost of messages, which the group measures in its first operation; before, STATE. One rank has none: 0. A group
  // that does not measure returns UNSUPPORTED. Safe from any thread.
  virtual Status link_cost(LinkCost* out) const noexcept = 0;
  // Writes the last operations of this rank, a line each, the oldest first: number, call, state and times. The text is
  // cut where `capacity` ends, and ends with a zero byte. Returns the bytes of the whole text without it. Safe from any
  // thread.
  virtual size_t describe_operations(char* out, size_t capacity) const noexcept = 0;

 protected:
  ~ProcessGroup() = default;
};

}  // namespace halftone
