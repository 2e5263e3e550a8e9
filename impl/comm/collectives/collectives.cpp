#include "comm/collectives/collectives.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "comm/collectives/reduction.h"

namespace halftone {

Collectives::Collectives(Transport& transport)
    : transport_(transport),
      names_(transport.names()),
      rank_(transport.rank()),
      size_(transport.size()),
      inputs_(static_cast<size_t>(size_)),
      is_held_(static_cast<size_t>(size_)),
      sent_(static_cast<size_t>(size_)),
      received_(static_cast<size_t>(size_)) {
  letters_.reserve(static_cast<size_t>(size_) * kMaxLetters);
}

Status Collectives::run(const Request& request, uint64_t hash, Deadline deadline) noexcept {
  if (request.operation == Operation::kMessages) {
    Status status = run_messages(request, hash, deadline);
    return status.ok() ? status : fail(status);
  }
  transport_.begin(2 * ++sequence_);
  Status status = run_slices(request, hash, deadline);
  if (!status.ok()) return fail(status);
  transport_.begin(2 * sequence_ + 1);
  traffic_.count_operation();
  return status;
}

// Equal on all ranks, because their calls and costs are.
Algorithm Collectives::algorithm_for(const Request& request) const noexcept {
  const bool has_data = request.operation != Operation::kBarrier;
  const int64_t bytes = has_data ? request.in.numel() * static_cast<int64_t>(size_of(request.in.dtype)) : 0;
  if (!forced_) return fastest(request.operation, bytes, size_, cost_);
  const double ns = predicted_ns(request.operation, *forced_, bytes, size_, cost_);
  return ns < std::numeric_limits<double>::infinity() ? *forced_ : Algorithm::kDirect;
}

// Elements of a slice. Directly a rank sends an element of these two operations to every other rank. Otherwise it sends
// the elements of the other ranks, too, and the root of a broadcast by ring sends most elements twice.
int64_t Collectives::slice_count(const Request& request, Algorithm algorithm) const noexcept {
  const bool sends_parts = request.operation == Operation::kReduceScatter || request.operation == Operation::kAllToAll;
  const bool is_broadcast = request.operation == Operation::kBroadcast;
  const int64_t copies = algorithm == Algorithm::kDirect ? (sends_parts ? size_ : 1)
                         : is_broadcast                  ? (algorithm == Algorithm::kRing ? 2 : 1)
                                                         : size_;
  const int64_t bytes = static_cast<int64_t>(size_of(request.in.dtype)) * copies;
  return std::max<int64_t>(1, transport_.slice_bytes() / bytes);
}

// The first slice runs in any case: ranks without elements compare their calls, too.
Status Collectives::run_slices(const Request& request, uint64_t hash, Deadline deadline) noexcept {
  const bool is_divided = request.operation == Operation::kAllToAll;
  const int64_t count = is_divided ? request.count() / size_ : request.count();
  Call call{.request = request, .hash = hash, .sequence = sequence_, .deadline = deadline, .slice = {}};
  if (Status status = measure_once(call); !status.ok()) return status;
  call.algorithm = algorithm_for(request);
  const int64_t longest = slice_count(request, call.algorithm);
  do {
    call.slice.count = std::min(longest, count - call.slice.begin);
    Status status = run_rounds(call);
    if (status.ok()) status = drain(deadline);
    if (!status.ok()) return status;
    call.slice.begin += call.slice.count;
    ++call.slice_number;
  } while (call.slice.begin < count);
  return {};
}

void Collectives::finish(Deadline deadline) noexcept {
  if (letters_.empty()) return;
  if (Status status = drain(deadline); !status.ok()) fail(status);
}

Status Collectives::drain(Deadline deadline) noexcept {
  Status status = transport_.drain(deadline);
  if (status.ok()) letters_.clear();
  return status;
}

// Abort first: the peers that read this rank's messages may wait for others.
Status Collectives::fail(const Status& reason) noexcept {
  Status status = transport_.abort(reason);
  release_held();
  transport_.withdraw();
  letters_.clear();
  return status;
}

Status Collectives::run_rounds(const Call& call) noexcept {
  const bool is_tree = call.algorithm == Algorithm::kTree;
  const bool is_ring = call.algorithm == Algorithm::kRing;
  switch (call.request.operation) {
    case Operation::kAllReduce:
      return is_tree ? all_reduce_by_tree(call) : all_reduce(call);
    case Operation::kAllGather:
      return is_tree ? all_gather_by_tree(call) : is_ring ? all_gather_by_ring(call) : all_gather(call);
    case Operation::kReduceScatter:
      return reduce_scatter(call);
    case Operation::kBroadcast:
      return is_tree ? broadcast_by_tree(call) : is_ring ? broadcast_by_ring(call) : broadcast(call);
    case Operation::kAllToAll:
      return all_to_all(call);
    case Operation::kBarrier:
      return is_tree ? barrier_by_tree(call) : barrier(call);
    default:
      break;
  }
  return Status::failure(Code::kInternal, "an unknown operation");
}

// In place, a rank writes part p of its memory only when p's result has arrived, so when p has read its input.
Status Collectives::all_reduce(const Call& call) noexcept {
  const auto part = [&](int index) {
    const Part part = part_of(call.slice.count, size_, index);
    return Part{.begin = call.slice.begin + part.begin, .count = part.count};
  };
  const Message own = call.part(call.request.out, part(rank_));
  Status status = send_to_all(call, 0, [&](int peer) { return call.part(call.request.in, part(peer)); });
  if (status.ok()) status = reduce_round(call, part(rank_), address_of(call.request.out, part(rank_).begin));
  if (status.ok()) status = send_to_all(call, 1, [&](int) { return own; });
  if (!status.ok()) return status;
  return copy_round(call, 1, [&](int peer) { return call.part(call.request.out, part(peer)); });
}

Status Collectives::reduce_scatter(const Call& call) noexcept {
  const auto part = [&](int index) { return call.part_of_rank(index, call.request.out.numel()); };
  Status status = send_to_all(call, 0, [&](int peer) { return call.part(call.request.in, part(peer)); });
  if (!status.ok()) return status;
  return reduce_round(call, part(rank_), address_of(call.request.out, call.slice.begin));
}

Status Collectives::all_gather(const Call& call) noexcept {
  const int64_t count = call.request.in.numel();
  const auto place = [&](int index) { return call.part(call.request.out, call.part_of_rank(index, count)); };
  const Message own = call.part(call.request.in, call.slice);
  Status status = send_to_all(call, 0, [&](int) { return own; });
  if (!status.ok()) return status;
  copy_bytes(own.data, const_cast<void*>(place(rank_).data), own.bytes);
  return copy_round(call, 0, place);
}

// The others send empty messages to each other and to the root, so that every rank sees every other rank's header.
Status Collectives::broadcast(const Call& call) noexcept {
  const auto data_of = [&](bool is_root) { return is_root ? call.part(call.request.out, call.slice) : Message{}; };
  Status status = send_to_all(call, 0, [&](int) { return data_of(rank_ == call.request.peer); });
  return status.ok() ? copy_round(call, 0, [&](int peer) { return data_of(peer == call.request.peer); }) : status;
}

Status Collectives::all_to_all(const Call& call) noexcept {
  const int64_t count = call.request.in.numel() / size_;
  const auto part = [&](int index) { return call.part_of_rank(index, count); };
  Status status = send_to_all(call, 0, [&](int peer) { return call.part(call.request.in, part(peer)); });
  if (!status.ok()) return status;
  const Message own = call.part(call.request.in, part(rank_));
  copy_bytes(own.data, address_of(call.request.out, part(rank_).begin), own.bytes);
  return copy_round(call, 0, [&](int peer) { return call.part(call.request.out, part(peer)); });
}

Status Collectives::barrier(const Call& call) noexcept {
  Status status = send_to_all(call, 0, [](int) { return Message{}; });
  return status.ok() ? copy_round(call, 0, [](int) { return Message{}; }) : status;
}

// data(peer) is the message for a peer.
template <class Data>
Status Collectives::send_to_all(const Call& call, int32_t round, Data&& data) noexcept {
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    Message message = data(peer);
    message.header = call.header(round);
    if (Status status = transport_.send(peer, message); !status.ok()) return status;
    traffic_.count_sent(message.bytes);
  }
  return {};
}

Status Collectives::receive(const Call& call, int32_t round, int peer, const Message& place, Message* out) noexcept {
  return receive(call.header(round), call.deadline, peer, place, out);
}

// The message is held until it is released. Its size is checked as well: it may come from another process. `place`
// tells the size, and where the data may arrive.
Status Collectives::receive(const Header& own, Deadline deadline, int peer, const Message& place,
                            Message* out) noexcept {
  transport_.expect(peer, const_cast<void*>(place.data), place.bytes);
  const Status status = transport_.receive(peer, deadline, out);
  if (status.code == Code::kTimeout) return timeout_of(peer, own);
  if (!status.ok()) return status;
  is_held_[static_cast<size_t>(peer)] = true;
  traffic_.count_received(out->bytes);
  Status result = compare(rank_, own, peer, out->header, names_);
  if (!result.ok() || out->bytes == place.bytes) return result;
  return Status::failure(Code::kComm, "rank %d sent %lld bytes in %s, expected %lld", names_[peer],
                         static_cast<long long>(out->bytes), HeaderText(own, names_).text,
                         static_cast<long long>(place.bytes));
}

Status Collectives::timeout_of(int peer, const Header& own) const noexcept {
  return Status::failure(Code::kTimeout, "rank %d waited for rank %d in %s until the deadline", names_[rank_],
                         names_[peer], HeaderText(own, names_).text);
}

// Gets part `own` of all ranks' inputs and reduces them into `out`.
Status Collectives::reduce_round(const Call& call, Part own, void* out) noexcept {
  for (int peer = 0; peer < size_; ++peer) {
    Message message = call.part(call.request.in, own);
    if (peer != rank_) {
      if (Status status = receive(call, 0, peer, {.header = {}, .bytes = message.bytes}, &message); !status.ok())
        return status;
    }
    inputs_[static_cast<size_t>(peer)] = message.data;
  }
  reduce_inputs(call.request.reduce_op, call.request.in.dtype, inputs_, own.count, out);
  release_held();
  return {};
}

// Copies every peer's message to place(peer), which tells the size as well.
template <class Place>
Status Collectives::copy_round(const Call& call, int32_t round, Place&& place) noexcept {
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    const Message target = place(peer);
    Message message;
    if (Status status = receive(call, round, peer, target, &message); !status.ok()) return status;
    copy_bytes(message.data, const_cast<void*>(target.data), target.bytes);
    release_held();
  }
  return {};
}

void Collectives::release_held() noexcept {
  for (int peer = 0; peer < size_; ++peer) {
    if (!is_held_[static_cast<size_t>(peer)]) continue;
    transport_.release(peer);
    is_held_[static_cast<size_t>(peer)] = false;
  }
}

}  // namespace halftone
