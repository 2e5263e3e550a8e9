// TCP sockets as the store needs them: not blocking, closed on exec, without SIGPIPE, with keepalive. Errors are IO
// with errno. A socket belongs to one thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include "core/status.h"

namespace halftone {

using SocketDeadline = std::chrono::steady_clock::time_point;

// The milliseconds until the deadline as poll() takes them: rounded up, at least 0.
int milliseconds_until(SocketDeadline deadline) noexcept;
SocketDeadline deadline_after(int64_t nanoseconds) noexcept;

class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) noexcept : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket();

  int descriptor() const noexcept { return descriptor_; }
  bool is_open() const noexcept { return descriptor_ >= 0; }

  // Bytes moved; 0 if none can be moved now; -1 if the connection is gone.
  int64_t send_some(const void* data, size_t bytes) noexcept;
  int64_t receive_some(void* data, size_t bytes) noexcept;
  // Block until all bytes are moved. TIMEOUT at the deadline, PEER_LOST if the connection is gone.
  Status send_all(const void* data, size_t bytes, SocketDeadline deadline) noexcept;
  Status receive_all(void* data, size_t bytes, SocketDeadline deadline) noexcept;

 private:
  Status wait_until_ready(short events, SocketDeadline deadline) noexcept;

  int descriptor_ = -1;
};

// "address:port" and "[::1]:port". Port 0 lets the system choose. Both throw OUT_OF_MEMORY.
struct ListenAddress {
  std::string text;   // as other processes name it: the given name and the port that was bound
  std::string local;  // as this process reaches it
};
Status listen_at(const char* address, Socket* out, ListenAddress* out_bound);
// Tries once. native_code is ECONNREFUSED where no process listens.
Status connect_to(const char* address, SocketDeadline deadline, Socket* out);
// Takes a waiting connection; a closed socket if there is none. `out_error` receives errno or 0.
Socket accept_from(Socket& listener, int* out_error) noexcept;

}  // namespace halftone
