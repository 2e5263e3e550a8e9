// Messages between processes over Gloo's TCP connections. A message is a head, which holds small data as well, and then
// the data, which moves when the receiver has read the head and asked for it: so ranks that disagree about a size find
// out before data moves. The receiver confirms every message.
//
// A rank that ends the group says goodbye with the reason and the first step that fails (Transport::begin), and closes
// its connections. So ranks that are behind can finish the steps before, and all name one reason. A connection that ends
// without a goodbye means a lost rank.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "comm/collectives/transport.h"
#include "comm/control/watch.h"
#include "comm/gloo/alarm.h"
#include "comm/gloo/gloo_peer.h"

namespace halftone {

class GlooTransport final : public Transport, private Watch::Listener {
 public:
  // Throws OUT_OF_MEMORY. The options are read during creation alone.
  GlooTransport(std::shared_ptr<Mesh> mesh, const GroupOptions& options);
  ~GlooTransport() override;
  // Comes once, before the first message. Waits until every rank has called it. Errors as receive. Throws
  // OUT_OF_MEMORY.
  Status start(const GroupOptions& options, Deadline deadline);

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  const RankNames& names() const noexcept override { return names_; }

  void begin(uint64_t step) noexcept override;
  Status send(int peer, const Message& message) noexcept override;
  void expect(int peer, void* place, int64_t bytes) noexcept override;
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
  void on_notice(const Notice& notice) noexcept override;

  GlooPeer& peer_at(int peer) noexcept { return *peers_[static_cast<size_t>(peer)]; }
  bool has_failed() const noexcept { return failed_step_ <= step_; }  // REQUIRES: mutex_ is held
  Status failure() noexcept;
  template <class Action>
  Status call_gloo(int peer, Action&& action) noexcept;
  Status await(int peer, MeshBuffer& receiver, Deadline deadline) noexcept;
  void examine() noexcept;
  void take_notice(const Notice& notice) noexcept;
  Status receive_head(int peer, Deadline deadline) noexcept;
  Status start_data(int peer) noexcept;
  Status receive_data(int peer, Deadline deadline) noexcept;
  Status await_one_of(std::span<const Awaited> awaited, Deadline deadline) noexcept;
  Status await_confirmations(int peer, Deadline deadline) noexcept;
  Status reason_of_leaving(int peer) noexcept;
  Notice reason_to_leave() noexcept;
  void close_all(const Notice& notice) noexcept;
  void say_goodbye(const Notice& notice) noexcept;

  const int rank_;
  const int size_;
  const RankNames names_;
  const bool checks_data_;
  std::shared_ptr<Mesh> mesh_;
  std::vector<std::unique_ptr<GlooPeer>> peers_;  // null for this rank
  std::mutex use_;                                // held in calls that use the connections
  bool is_closed_ = false;                        // under use_
  std::mutex mutex_;                              // guards the members below; held briefly
  uint64_t step_ = 1;
  uint64_t failed_step_ = UINT64_MAX;  // the first that fails
  Status failure_;
  Alarm alarm_;
  std::unique_ptr<Watch> watch_;  // null without heartbeats
};

}  // namespace halftone
