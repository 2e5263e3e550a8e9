// The operations of the algorithm kRing: parts go from each rank to the next, which takes a copy and passes it on.
#include "comm/collectives/collectives.h"

namespace halftone {
namespace {

// Follow the rounds in which the ranks compare their calls.
constexpr int32_t kPartRound = 32;
constexpr int32_t kRingRound = 33;

}  // namespace

// In step s a rank sends the part that began s ranks before it, and receives the next one. A rank that `has_all` parts
// receives none. place(part) is where a part is in this rank's memory; numbers of parts count from `first`.
template <class Place>
Status Collectives::pass_around(const Call& call, int32_t first_round, int first, bool has_all,
                                Place&& place) noexcept {
  const int number = static_cast<int>(number_from(first));
  const bool next_has_all = call.request.operation == Operation::kBroadcast && number == size_ - 1;
  const auto part = [&](int steps) { return place((number - steps + size_) % size_); };
  Status status;
  for (int step = 0; step + 1 < size_ && status.ok(); ++step) {
    if (step % kMaxMessages == 0) status = drain_round(call);
    if (status.ok() && !next_has_all) status = send_to(call, first_round + step, rank_after(1), part(step));
    if (status.ok() && !has_all) status = receive_into(call, first_round + step, rank_after(-1), part(step + 1));
  }
  return status;
}

Status Collectives::all_gather_by_ring(const Call& call) noexcept {
  const Message own = call.part(call.request.in, call.slice);
  const auto place = [&](int index) {
    return call.part(call.request.out, call.part_of_rank(index, call.request.in.numel()));
  };
  copy_bytes(own.data, const_cast<void*>(place(rank_).data), own.bytes);
  return pass_around(call, 0, 0, false, place);
}

// The root gives every rank a part, and the ranks pass the parts on. The calls are compared first, as by the tree.
Status Collectives::broadcast_by_ring(const Call& call) noexcept {
  const int root = call.request.peer;
  const bool is_root = rank_ == root;
  const auto place = [&](int number) {
    const Part part = part_of(call.slice.count, size_, number);
    return call.part(call.request.out, {.begin = call.slice.begin + part.begin, .count = part.count});
  };
  Status status = barrier_by_tree(call);
  for (int number = 1; number < size_ && is_root && status.ok(); ++number) {
    status = send_to(call, kPartRound, rank_after(number), place(number));
  }
  if (status.ok() && !is_root) {
    status = receive_into(call, kPartRound, root, place(static_cast<int>(number_from(root))));
  }
  return status.ok() ? pass_around(call, kRingRound, root, is_root, place) : status;
}

}  // namespace halftone
