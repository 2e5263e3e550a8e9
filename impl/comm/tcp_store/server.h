// The process that holds a store's entries: one thread, with all its signals blocked, that serves all clients.
// Strangers cost little: a client that has not proven that it knows the secret is closed at a deadline, and only a few
// such clients are kept. Created and destroyed by one thread.
#pragma once

#include <pthread.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "comm/tcp_store/connection.h"

struct pollfd;

namespace halftone {

class StoreServer {
 public:
  // Throws the errors of listen_at as Error, and OUT_OF_MEMORY.
  StoreServer(const char* address, std::string secret, int64_t handshake_ns);
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

  // The address for clients of this process.
  const std::string& local_address() const noexcept { return address_.local; }
  // Closes the port in a forked child, which leaves the rest in place: the parent's thread was using it.
  void abandon() noexcept { listener_ = Socket(); }

 private:
  static void* work(void* self) noexcept;
  void start();
  void run() noexcept;
  void wait(std::vector<pollfd>& waited) const;
  void serve(const std::vector<pollfd>& waited);
  void accept_clients();
  void add_client(Socket socket);
  bool check_waits() noexcept;
  void drop_oldest_stranger() noexcept;
  void remove_closed() noexcept;

  const std::string secret_;
  const int64_t handshake_ns_;
  OwnedStore entries_;
  Socket listener_;
  ListenAddress address_;
  Socket wake_;
  std::vector<std::unique_ptr<StoreConnection>> clients_;  // in the order of their arrival; used by the thread
  SocketDeadline accepts_from_{};                          // no descriptors are left before
  std::atomic<bool> is_stopped_{false};
  pthread_t thread_{};
};

}  // namespace halftone
