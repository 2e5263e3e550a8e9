// Messages between threads of one process, as addresses. Used by one thread of each rank, as transport.h says.
#pragma once

#include "comm/threads/hub.h"

namespace halftone {

class ThreadsTransport final : public Transport {
 public:
  // REQUIRES: the rank has joined the hub
  ThreadsTransport(Ref<Hub> hub, int rank, RankNames names = {})
      : hub_(std::move(hub)), rank_(rank), names_(std::move(names)) {}

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return hub_->size; }
  const RankNames& names() const noexcept override { return names_; }
  bool shares_memory() const noexcept override { return true; }

  void begin(uint64_t step) noexcept override;
  Status send(int peer, const Message& message) noexcept override;
  Status receive(int peer, Deadline deadline, Message* out) noexcept override;
  void release(int peer) noexcept override;
  Status drain(Deadline deadline) noexcept override;
  bool is_ready(const Awaited& awaited) noexcept override;
  Status await_any(std::span<const Awaited> awaited, Deadline deadline) noexcept override;
  Status await_released(int peer, Deadline deadline) noexcept override;
  void withdraw() noexcept override;
  Status abort(const Status& reason) noexcept override;
  void leave() noexcept override;

 private:
  // REQUIRES: the hub's mutex is held
  bool has_failed() const noexcept;
  bool is_ready_now(const Awaited& awaited) const noexcept;
  int first_that_left(std::span<const Awaited> awaited) const noexcept;
  Status wait_released(std::unique_lock<std::mutex>& lock, int peer, Deadline deadline) noexcept;
  template <class Condition>
  Status wait(std::unique_lock<std::mutex>& lock, std::span<const Awaited> awaited, Deadline deadline,
              Condition condition) noexcept;

  Ref<Hub> hub_;
  const int rank_;
  const RankNames names_;
};

}  // namespace halftone
