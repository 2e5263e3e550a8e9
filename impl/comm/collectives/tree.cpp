// The operations of the algorithm kTree, in rounds with doubling distances. In round k a rank sends all that it knows
// to the rank 2^k further, and hears from the rank 2^k before: after the last round it has heard of every rank. It
// compares each message's call with its own, so a rank that disagrees is found by the next rank in the first round, and
// no rank finishes without all others.
#include <algorithm>
#include <bit>
#include <new>

#include "comm/collectives/collectives.h"
#include "comm/collectives/reduction.h"

namespace halftone {
namespace {

// Follows the rounds in which the ranks compare their calls.
constexpr int32_t kDataRound = 32;

}  // namespace

Status Collectives::send_to(const Call& call, int32_t round, int peer, Message message) noexcept {
  message.header = call.header(round);
  Status status = transport_.send(peer, message);
  if (status.ok()) traffic_.count_sent(message.bytes);
  return status;
}

// In the first round the peer needs nothing but its own call. Later it may wait for another rank itself.
Status Collectives::receive_into(const Call& call, int32_t round, int peer, const Message& target) noexcept {
  const bool is_first = round == 0 || round == kFirstTrial;
  Call patient = call;
  if (!is_first) patient.deadline += kPatience;
  Message message;
  const Status status = receive(patient, round, peer, target, &message);
  if (status.code == Code::kTimeout && !is_first) {
    return Status::failure(Code::kTimeout,
                           "rank %d waited for rank %d, or for a rank that it needs, in %s until the deadline",
                           names_[rank_], names_[peer], HeaderText(call.header(round), names_).text);
  }
  if (!status.ok()) return status;
  copy_bytes(message.data, const_cast<void*>(target.data), target.bytes);
  release_held();
  return {};
}

// Within an operation, so that a further message may be sent to each peer.
Status Collectives::drain_round(const Call& call) noexcept { return drain(call.deadline + kPatience); }

// Entry `i` of the table is the message of the rank i before this one. Entry 0 is there; the others are received.
Status Collectives::disseminate(const Call& call, std::byte* table, int64_t entry_bytes) noexcept {
  Status status;
  for (int distance = 1, round = 0; distance < size_ && status.ok(); distance *= 2, ++round) {
    const int64_t bytes = std::min(distance, size_ - distance) * entry_bytes;
    status = send_to(call, round, rank_after(distance), {.header = {}, .data = table, .bytes = bytes});
    if (!status.ok()) return status;
    const Message target{.header = {}, .data = table + distance * entry_bytes, .bytes = bytes};
    status = receive_into(call, round, rank_after(-distance), target);
  }
  return status;
}

// Every rank's slice of `in`, in the table. The copy of this rank's own lets `in` be written before all have read it.
Status Collectives::gather_table(const Call& call, std::byte** out_table, int64_t* out_bytes) noexcept {
  const Message own = call.part(call.request.in, call.slice);
  Status status = reserve(own.bytes * size_);
  if (!status.ok()) return status;
  copy_bytes(own.data, table_.get(), own.bytes);
  *out_table = table_.get();
  *out_bytes = own.bytes;
  return disseminate(call, table_.get(), own.bytes);
}

Status Collectives::reserve(int64_t bytes) noexcept {
  if (table_ != nullptr && bytes <= table_bytes_) return {};
  table_bytes_ = 0;
  table_.reset(new (std::nothrow) std::byte[static_cast<size_t>(std::max<int64_t>(bytes, 1))]);
  if (table_ == nullptr) return Status::failure(Code::kOutOfMemory, "no memory for the messages of a group");
  table_bytes_ = bytes;
  return {};
}

// Every rank reduces all inputs in the order of kDirect, so the result is bitwise the same.
Status Collectives::all_reduce_by_tree(const Call& call) noexcept {
  std::byte* table = nullptr;
  int64_t bytes = 0;
  if (Status status = gather_table(call, &table, &bytes); !status.ok()) return status;
  for (int before = 0; before < size_; ++before) {
    inputs_[static_cast<size_t>(rank_after(-before))] = table + before * bytes;
  }
  reduce_inputs(call.request.reduce_op, call.request.in.dtype, inputs_, call.slice.count,
                address_of(call.request.out, call.slice.begin));
  return {};
}

Status Collectives::all_gather_by_tree(const Call& call) noexcept {
  std::byte* table = nullptr;
  int64_t bytes = 0;
  if (Status status = gather_table(call, &table, &bytes); !status.ok()) return status;
  for (int before = 0; before < size_; ++before) {
    const Part part = call.part_of_rank(rank_after(-before), call.request.in.numel());
    // In place this rank's part is not written: the caller may read it meanwhile.
    const void* const from = before == 0 ? call.part(call.request.in, call.slice).data : table + before * bytes;
    copy_bytes(from, address_of(call.request.out, part.begin), bytes);
  }
  return {};
}

Status Collectives::barrier_by_tree(const Call& call) noexcept { return disseminate(call, nullptr, 0); }

// Numbers count from the root. In round k the ranks below 2^k send to those 2^k further, so that the parent of a rank
// is its number without the highest bit. The calls are compared first: ranks with different roots know different
// parents.
Status Collectives::broadcast_by_tree(const Call& call) noexcept {
  Status status = barrier_by_tree(call);
  const unsigned number = number_from(call.request.peer);
  const int highest = static_cast<int>(std::bit_floor(number));
  const Message data = call.part(call.request.out, call.slice);
  if (status.ok() && number > 0) status = receive_into(call, kDataRound, rank_after(-highest), data);
  for (int distance = std::max(2 * highest, 1); status.ok(); distance *= 2) {
    if (static_cast<int>(number) + distance >= size_) break;
    status = send_to(call, kDataRound, rank_after(distance), data);
  }
  return status;
}

}  // namespace halftone
