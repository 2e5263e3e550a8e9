// Messages between pairs of ranks. A batch exchanges messages with whichever peer is ready, so that no order of its
// transfers can deadlock, and its sends point into the caller's memory. A send alone is copied, so that two ranks may
// send to each other before either receives.
#include <algorithm>
#include <new>

#include "comm/collectives/collectives.h"
#include "comm/collectives/operands.h"
#include "comm/guarded.h"

namespace halftone {
namespace {

Message content_of(const View& data) { return {.header = {}, .data = data.data, .bytes = bytes_of(data)}; }

Awaited needed_by(const Transfer& transfer) {
  return {.peer = transfer.peer, .is_message = transfer.direction == Operation::kReceive};
}

}  // namespace

Status Collectives::run_messages(const Request& request, uint64_t hash, Deadline deadline) noexcept {
  const Batch batch{.transfers = transfers_of(request), .hash = hash, .deadline = deadline};
  const bool is_send = batch.transfers.size() == 1 && batch.transfers[0].direction == Operation::kSend;
  Status status = is_send ? send_copy(batch) : exchange(batch);
  if (status.ok()) traffic_.count_operation();
  if (status.ok() || batch.transfers.size() < 2) return status;
  Status named = Status::failure(status.code, "batch of %zu messages: %.210s", batch.transfers.size(), status.message);
  named.native_code = status.native_code;
  return named;
}

Status Collectives::send_copy(const Batch& batch) noexcept {
  const Transfer& transfer = batch.transfers[0];
  const auto is_to_peer = [&](const Letter& letter) { return letter.peer == transfer.peer; };
  if (std::count_if(letters_.begin(), letters_.end(), is_to_peer) == kMaxLetters) {
    if (Status status = drain(batch.deadline); !status.ok()) return status;
  }
  Message message = content_of(transfer.data);
  Letter letter{.data = std::unique_ptr<std::byte[]>(new (std::nothrow) std::byte[static_cast<size_t>(message.bytes)]),
                .peer = transfer.peer};
  if (letter.data == nullptr) return Status::failure(Code::kOutOfMemory, "no memory for a message of a group");
  copy_bytes(message.data, letter.data.get(), message.bytes);
  message.data = letter.data.get();
  letters_.push_back(std::move(letter));  // has room
  return send(transfer, batch.hash, message);
}

// Done when the peers have received what this rank sends: then its memory may be written.
Status Collectives::exchange(const Batch& batch) noexcept {
  size_t left = batch.transfers.size();
  Status status = guarded([&] {
    is_over_.assign(left, false);
    awaited_.reserve(left);
  });
  while (status.ok() && left > 0) {
    const size_t before = left;
    status = exchange_with_ready(batch, &left);
    if (status.ok() && left == before) status = await_peer(batch);
  }
  for (const Transfer& transfer : batch.transfers) {
    if (!status.ok()) return status;
    if (transfer.direction == Operation::kSend) status = await_received(transfer.peer, batch.deadline);
  }
  return status;
}

// Collects in awaited_ what the other transfers wait for. Messages of one peer and direction keep their order.
Status Collectives::exchange_with_ready(const Batch& batch, size_t* left) noexcept {
  awaited_.clear();
  for (size_t i = 0; i < batch.transfers.size(); ++i) {
    if (is_over_[i]) continue;
    const Transfer& transfer = batch.transfers[i];
    const Awaited needed = needed_by(transfer);
    if (std::find(awaited_.begin(), awaited_.end(), needed) != awaited_.end()) continue;
    if (!transport_.is_ready(needed)) {
      awaited_.push_back(needed);  // has room
      continue;
    }
    const bool sends = transfer.direction == Operation::kSend;
    Status status = sends ? send(transfer, batch.hash, content_of(transfer.data)) : receive(transfer, batch);
    if (!status.ok()) return status;
    is_over_[i] = true;
    --*left;
  }
  return {};
}

// Waits until a transfer can go on.
Status Collectives::await_peer(const Batch& batch) noexcept {
  Status status = transport_.await_any(awaited_, batch.deadline);
  if (status.code != Code::kTimeout) return status;
  const auto first = static_cast<size_t>(std::find(is_over_.begin(), is_over_.end(), false) - is_over_.begin());
  const Transfer& transfer = batch.transfers[first];
  const std::vector<uint64_t>& numbers = transfer.direction == Operation::kSend ? sent_ : received_;
  const uint64_t number = numbers[static_cast<size_t>(transfer.peer)] + 1;
  return timeout_of(transfer.peer, header_of(transfer, batch.hash, rank_, number));
}

Status Collectives::await_received(int peer, Deadline deadline) noexcept {
  Status status = transport_.await_released(peer, deadline);
  if (status.code != Code::kTimeout) return status;
  return Status::failure(Code::kTimeout, "rank %d waited for rank %d to receive its messages until the deadline",
                         names_[rank_], names_[peer]);
}

Status Collectives::send(const Transfer& transfer, uint64_t hash, Message message) noexcept {
  message.header = header_of(transfer, hash, rank_, ++sent_[static_cast<size_t>(transfer.peer)]);
  Status status = transport_.send(transfer.peer, message);
  if (status.ok()) traffic_.count_sent(message.bytes);
  return status;
}

Status Collectives::receive(const Transfer& transfer, const Batch& batch) noexcept {
  const Header own = header_of(transfer, batch.hash, rank_, ++received_[static_cast<size_t>(transfer.peer)]);
  const Message target = content_of(transfer.data);
  Message message;
  if (Status status = receive(own, batch.deadline, transfer.peer, target, &message); !status.ok()) return status;
  copy_bytes(message.data, const_cast<void*>(target.data), target.bytes);
  release_held();
  return {};
}

}  // namespace halftone
