// Lets one thread wait for messages of Gloo and look around every 20 ms. Gloo's own timeouts close all connections of a
// group, and Gloo does not tell a waiting thread that a connection ended in the middle of a message. A thread of the
// alarm, with all its signals blocked, ends each long wait.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "comm/gloo/mesh.h"

namespace halftone {

class Alarm {
 public:
  // Throws std::system_error if the thread cannot start.
  Alarm();
  ~Alarm();
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  // Returns true when a receive is done, and false after 20 to 40 ms, or after ring(). Throws Gloo's error if
  // the connection has ended. One thread at a time waits.
  bool wait_received(MeshBuffer& buffer);
  // Ends the wait under way. Safe from any thread.
  void ring() noexcept;

  // Returns true if the connection of a receive that waits has ended. Does not wait.
  static bool has_ended(MeshBuffer& receiver);

 private:
  void run() noexcept;
  void begin(MeshBuffer& buffer) noexcept;
  void end() noexcept;

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  MeshBuffer* waiting_ = nullptr;
  uint64_t waits_ = 0;  // that have begun
  bool is_asleep_ = false;
  bool is_stopped_ = false;
  std::thread thread_;
};

}  // namespace halftone
