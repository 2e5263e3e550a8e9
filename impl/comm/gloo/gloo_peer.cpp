#include "comm/gloo/gloo_peer.h"

#include <cstring>

namespace halftone {
namespace {

constexpr uint64_t kHeadMark = 0x68616c66746f6e65;
constexpr int64_t kHeadBytes = offsetof(Head, data);

// The places that a message is sent from.
struct Outlet {
  Head& head;
  MeshBuffer& head_buffer;
  size_t head_offset;  // in its buffer
  std::unique_ptr<MeshBuffer>& data_buffer;
};

void send_through(const Outlet& outlet, const GlooPeer& peer, const Message& message, uint64_t checksum) {
  Head& head = outlet.head;
  head.mark = kHeadMark;
  head.header = message.header;
  head.bytes = message.bytes;
  head.checksum = checksum;
  const size_t bytes = static_cast<size_t>(message.bytes);
  const bool is_inline = message.bytes <= kInlineBytes;
  if (is_inline && bytes > 0) std::memcpy(head.data, message.data, bytes);
  const size_t head_bytes = static_cast<size_t>(kHeadBytes) + (is_inline ? bytes : 0);
  outlet.head_buffer.send(peer.rank, kHeadSlot, outlet.head_offset, head_bytes);
  if (is_inline) return;
  outlet.data_buffer = peer.mesh.createUnboundBuffer(const_cast<void*>(message.data), bytes);
  outlet.data_buffer->send(peer.rank, kDataSlot, 0, bytes);
}

// Gloo cannot say without waiting whether a message is there, and writes `mark` from the network on its own thread. So
// this look is a hint: a wait for the message follows, which orders the rest of the head.
__attribute__((noinline, no_sanitize("thread"))) bool has_arrived(const Head& head) {
  return __atomic_load_n(&head.mark, __ATOMIC_ACQUIRE) == kHeadMark;
}

}  // namespace

GlooPeer::GlooPeer(Mesh& all, int number)
    : mesh(all),
      rank(number),
      heads_in(new Head[kCapacity]),
      heads_out(new Head[kCapacity]),
      heads_received(mesh.createUnboundBuffer(heads_in.get(), sizeof(Head) * kCapacity)),
      heads_sent(mesh.createUnboundBuffer(heads_out.get(), sizeof(Head) * kCapacity)),
      confirmations(mesh.createUnboundBuffer(nullptr, 0)),
      goodbye_received(mesh.createUnboundBuffer(&goodbye_in, sizeof goodbye_in)),
      goodbye_sent(mesh.createUnboundBuffer(&goodbye_out, sizeof goodbye_out)),
      hello(mesh.createUnboundBuffer(nullptr, 0)),
      silence(mesh.createUnboundBuffer(nullptr, 0)) {}

// The hello comes last: a rank that has it knows that the peer waits for all kinds of messages, so a goodbye that it
// sends from now on arrives.
void GlooPeer::await_messages() {
  for (size_t i = 0; i < kCapacity; ++i) {
    await_head(i);
    confirmations->recv(rank, kConfirmationSlot, 0, 0);
  }
  goodbye_received->recv(rank, kGoodbyeSlot, 0, sizeof(Goodbye));
  silence->recv(rank, kSilentSlot, 0, 0);
  hello->recv(rank, kHelloSlot, 0, 0);
  hello->send(rank, kHelloSlot, 0, 0);
}

void GlooPeer::await_head(size_t index) {
  heads_in[index].mark = 0;
  heads_received->recv(rank, kHeadSlot, index * sizeof(Head), sizeof(Head));
}

bool GlooPeer::has_message() const noexcept { return has_head || has_arrived(head()); }

// Gloo keeps messages that the peer does not await yet.
void GlooPeer::send(const Message& message, uint64_t checksum) {
  const size_t index = (sent - 1) % kCapacity;
  if (sent - confirmed <= kCapacity) {
    const Outlet outlet{heads_out[index], *heads_sent, index * sizeof(Head), data_out[index]};
    return send_through(outlet, *this, message, checksum);
  }
  spares.push_back(std::make_unique<Spare>(mesh));
  Spare& spare = *spares.back();
  confirmations->recv(rank, kConfirmationSlot, 0, 0);
  ++extra_confirmations;
  send_through({spare.head, *spare.head_sent, 0, spare.data}, *this, message, checksum);
}

void GlooPeer::await_next_confirmation() {
  if (extra_confirmations == 0) return confirmations->recv(rank, kConfirmationSlot, 0, 0);
  --extra_confirmations;
}

void GlooPeer::forget_sent() noexcept {
  for (auto& data : data_out) data.reset();
  spares.clear();
}

}  // namespace halftone
