#include "comm/collectives/collectives.h"

#include <cstring>

#include "comm/collectives/reduction.h"

namespace halftone {

// One operation under way.
struct Collectives::Call {
  const Request& request;
  uint64_t sequence;
  Deadline deadline;

  Header header(int32_t round) const { return header_of(request, sequence, round); }
  // Bytes of an operand's part, as a message or as a place for one.
  Message part(const View& view, Part part) const {
    const int64_t bytes = part.count * static_cast<int64_t>(size_of(view.dtype));
    return {.header = {}, .data = address_of(view, part.begin), .bytes = bytes};
  }
};

namespace {

// Empty parts may have null addresses, which memmove must not see. The two are equal in place.
void copy_bytes(const void* from, void* to, int64_t bytes) {
  if (bytes > 0 && from != to) std::memmove(to, from, static_cast<size_t>(bytes));
}

}  // namespace

Collectives::Collectives(Transport& transport)
    : transport_(transport),
      rank_(transport.rank()),
      size_(transport.size()),
      inputs_(static_cast<size_t>(size_)),
      is_held_(static_cast<size_t>(size_)) {}

Status Collectives::run(const Request& request, Deadline deadline) noexcept {
  const Call call{.request = request, .sequence = ++sequence_, .deadline = deadline};
  transport_.begin(sequence_);
  Status status = run_rounds(call);
  if (status.ok()) status = transport_.drain(deadline);
  if (status.ok()) {
    transport_.begin(sequence_ + 1);
    return status;
  }
  // Abort first: the peers that read this rank's messages may wait for others.
  status = transport_.abort(status);
  release_held();
  transport_.withdraw();
  return status;
}

Status Collectives::run_rounds(const Call& call) noexcept {
  switch (call.request.operation) {
    case Operation::kAllReduce:
      return all_reduce(call);
    case Operation::kAllGather:
      return all_gather(call);
    case Operation::kReduceScatter:
      return reduce_scatter(call);
    case Operation::kBroadcast:
      return broadcast(call);
    case Operation::kAllToAll:
      return all_to_all(call);
    case Operation::kBarrier:
      return barrier(call);
  }
  return Status::failure(Code::kInternal, "an unknown operation");
}

// In place, a rank writes part p of its memory only when p's result has arrived, so when p has read its input.
Status Collectives::all_reduce(const Call& call) noexcept {
  const auto part = [&](int index) { return part_of(call.request.in.numel(), size_, index); };
  const Message own = call.part(call.request.out, part(rank_));
  Status status = send_to_all(call, 0, [&](int peer) { return call.part(call.request.in, part(peer)); });
  if (status.ok()) status = reduce_round(call, part(rank_), address_of(call.request.out, part(rank_).begin));
  if (status.ok()) status = send_to_all(call, 1, [&](int) { return own; });
  if (!status.ok()) return status;
  return copy_round(call, 1, [&](int peer) { return call.part(call.request.out, part(peer)); });
}

Status Collectives::reduce_scatter(const Call& call) noexcept {
  const int64_t count = call.request.out.numel();
  const auto part = [&](int index) { return Part{.begin = index * count, .count = count}; };
  Status status = send_to_all(call, 0, [&](int peer) { return call.part(call.request.in, part(peer)); });
  return status.ok() ? reduce_round(call, part(rank_), call.request.out.data) : status;
}

Status Collectives::all_gather(const Call& call) noexcept {
  const int64_t count = call.request.in.numel();
  const auto place = [&](int index) { return call.part(call.request.out, {.begin = index * count, .count = count}); };
  const Message own = call.part(call.request.in, {.begin = 0, .count = count});
  Status status = send_to_all(call, 0, [&](int) { return own; });
  if (!status.ok()) return status;
  copy_bytes(own.data, const_cast<void*>(place(rank_).data), own.bytes);
  return copy_round(call, 0, place);
}

// The others send empty messages to each other and to the root, so that every rank sees every other rank's header.
Status Collectives::broadcast(const Call& call) noexcept {
  const auto data_of = [&](bool is_root) {
    return is_root ? call.part(call.request.out, {.begin = 0, .count = call.request.out.numel()}) : Message{};
  };
  Status status = send_to_all(call, 0, [&](int) { return data_of(rank_ == call.request.root); });
  return status.ok() ? copy_round(call, 0, [&](int peer) { return data_of(peer == call.request.root); }) : status;
}

Status Collectives::all_to_all(const Call& call) noexcept {
  const int64_t count = call.request.in.numel() / size_;
  const auto part = [&](int index) { return Part{.begin = index * count, .count = count}; };
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
  }
  return {};
}

// The message is held until it is released.
Status Collectives::receive(const Call& call, int32_t round, int peer, Message* out) noexcept {
  const Header own = call.header(round);
  const Status status = transport_.receive(peer, call.deadline, out);
  if (status.code == Code::kTimeout) {
    return Status::failure(Code::kTimeout, "rank %d waited for rank %d in %s until the deadline", rank_, peer,
                           HeaderText(own).text);
  }
  if (!status.ok()) return status;
  is_held_[static_cast<size_t>(peer)] = true;
  return compare(rank_, own, peer, out->header);
}

// Gets part `own` of all ranks' inputs and reduces them into `out`.
Status Collectives::reduce_round(const Call& call, Part own, void* out) noexcept {
  for (int peer = 0; peer < size_; ++peer) {
    Message message = call.part(call.request.in, own);
    if (peer != rank_) {
      if (Status status = receive(call, 0, peer, &message); !status.ok()) return status;
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
    Message message;
    if (Status status = receive(call, round, peer, &message); !status.ok()) return status;
    const Message target = place(peer);
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
