// Ranks as threads whose collectives run one algorithm, over a transport that hands out slices as small as wanted and
// checks the rules of Transport.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "comm/collectives/collectives.h"
#include "comm/threads/lobby.h"
#include "comm/threads/threads_transport.h"
#include "ranks.h"

namespace halftone {

// Messages that measure may be larger than a slice.
class StrictTransport final : public Transport {
 public:
  // REQUIRES: the rank has joined the hub
  StrictTransport(const Ref<Hub>& hub, int rank, int64_t slice_bytes)
      : transport_(hub, rank), slice_bytes_(slice_bytes), sent_(static_cast<size_t>(hub->size)) {}

  int rank() const noexcept override { return transport_.rank(); }
  int size() const noexcept override { return transport_.size(); }
  const RankNames& names() const noexcept override { return transport_.names(); }
  int64_t slice_bytes() const noexcept override { return slice_bytes_; }
  bool shares_memory() const noexcept override { return true; }

  void begin(uint64_t step) noexcept override { transport_.begin(step); }
  // Two of the capacity belong to messages between two ranks.
  Status send(int peer, const Message& message) noexcept override {
    EXPECT_LE(++sent_[static_cast<size_t>(peer)], kCapacity - 2) << "messages to one rank without a drain";
    const bool is_known = message.data == last_.data && message.bytes == last_.bytes && message.header == last_.header;
    if (!is_known && message.header.round >= 0) bytes_ += message.bytes;
    last_ = message;
    EXPECT_LE(bytes_, slice_bytes_) << "bytes without a drain";
    return transport_.send(peer, message);
  }
  Status receive(int peer, Deadline deadline, Message* out) noexcept override {
    return transport_.receive(peer, deadline, out);
  }
  void release(int peer) noexcept override { transport_.release(peer); }
  Status drain(Deadline deadline) noexcept override {
    Status status = transport_.drain(deadline);
    bytes_ = 0;
    last_ = {};
    sent_.assign(sent_.size(), 0);
    return status;
  }
  bool is_ready(const Awaited& awaited) noexcept override { return transport_.is_ready(awaited); }
  Status await_any(std::span<const Awaited> awaited, Deadline deadline) noexcept override {
    return transport_.await_any(awaited, deadline);
  }
  Status await_released(int peer, Deadline deadline) noexcept override {
    return transport_.await_released(peer, deadline);
  }
  void withdraw() noexcept override { transport_.withdraw(); }
  Status abort(const Status& reason) noexcept override { return transport_.abort(reason); }
  void leave() noexcept override { transport_.leave(); }

 private:
  ThreadsTransport transport_;
  const int64_t slice_bytes_;
  std::vector<int> sent_;  // since the last drain
  int64_t bytes_ = 0;
  Message last_;
};

// One rank of a group that runs one algorithm.
struct StrictRank {
  int number;
  int size;
  StrictTransport& transport;
  Collectives& collectives;

  Status run(const Request& request, int64_t timeout_ns = kDefaultGroupTimeoutNs) {
    return collectives.run(request, 0, deadline(timeout_ns));
  }
  static Deadline deadline(int64_t timeout_ns) {
    return std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout_ns);
  }
};

// Runs body(rank) on one thread for each rank, with algorithm(rank).
inline void run_strict_ranks(int size, const std::function<Algorithm(int rank)>& algorithm, int64_t slice_bytes,
                             const std::function<void(StrictRank& rank)>& body) {
  const OwnedStore store = create_memory_store();
  std::vector<Ref<Hub>> hubs;
  for (int number = 0; number < size; ++number) {
    hubs.push_back(join_hub({.store = store.get(), .rank = number, .size = size}));
  }
  std::vector<std::thread> threads;
  for (int number = 0; number < size; ++number) {
    threads.emplace_back([&, number] {
      StrictTransport transport(hubs[static_cast<size_t>(number)], number, slice_bytes);
      Collectives collectives(transport);
      collectives.force(algorithm(number));
      StrictRank rank{.number = number, .size = size, .transport = transport, .collectives = collectives};
      body(rank);
      collectives.finish(StrictRank::deadline(kDefaultGroupTimeoutNs));
      transport.leave();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace halftone
