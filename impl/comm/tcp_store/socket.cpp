#include "comm/tcp_store/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <memory>

namespace halftone {
namespace {

constexpr int kBacklog = 1024;
constexpr int64_t kLongestWaitNs = int64_t{1} << 61;  // a later deadline could overflow the clock's type
// A peer whose machine is gone is noticed after 25 seconds without traffic, and after 20 with some.
constexpr int kKeepIdleSeconds = 10;
constexpr int kKeepIntervalSeconds = 5;
constexpr int kKeepProbes = 3;
constexpr int kUserTimeoutMs = 20'000;

struct FreeAddresses {
  void operator()(addrinfo* list) const noexcept { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Status io_failure(int error, const char* action, const char* address) {
  Status status = Status::failure(Code::kIo, "cannot %s %.100s: %s", action, address, std::strerror(error));
  status.native_code = error;
  return status;
}

struct HostPort {
  std::string host;
  std::string port;
};

Status parse(const char* address, HostPort* out) {
  const std::string text = address != nullptr ? address : "";
  const size_t colon = text.rfind(':');
  out->host = text.substr(0, colon);
  out->port = colon != std::string::npos ? text.substr(colon + 1) : "";
  if (out->host.size() >= 2 && out->host.front() == '[' && out->host.back() == ']') {
    out->host = out->host.substr(1, out->host.size() - 2);
  }
  const bool is_number =
      !out->port.empty() && out->port.size() <= 5 && out->port.find_first_not_of("0123456789") == std::string::npos;
  const bool is_host = !out->host.empty() && out->host.find_first_of("[]") == std::string::npos;
  if (is_host && is_number && std::stoi(out->port) <= 65535) return {};
  return Status::failure(Code::kInvalidArgument, "the address of a store is \"%.100s\", expected \"address:port\"",
                         text.c_str());
}

Status resolve(const HostPort& place, int flags, Addresses* out) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(place.host.c_str(), place.port.c_str(), &hints, &list);
  out->reset(list);
  if (error == 0) return {};
  Status status = Status::failure(Code::kIo, "cannot resolve \"%.100s\", the address of the store: %s",
                                  place.host.c_str(), gai_strerror(error));
  status.native_code = error == EAI_SYSTEM ? errno : EADDRNOTAVAIL;
  return status;
}

Socket open_socket(const addrinfo& address) {
  return Socket(socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol));
}

// None of these may fail a connection.
void set_options(const Socket& socket) noexcept {
  const auto set = [&](int level, int name, int value) {
    setsockopt(socket.descriptor(), level, name, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kKeepIdleSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kKeepIntervalSeconds);
  set(IPPROTO_TCP, TCP_KEEPCNT, kKeepProbes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeoutMs);
}

std::string joined(const std::string& host, const std::string& port) {
  return host.find(':') != std::string::npos ? "[" + host + "]:" + port : host + ":" + port;
}

// A wildcard address is reached through the loopback.
std::string local_address(const sockaddr_storage& bound) {
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&bound), sizeof bound, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "";
  }
  std::string name = host;
  if (name == "0.0.0.0") name = "127.0.0.1";
  if (name == "::") name = "::1";
  return joined(name, port);
}

int bind_and_listen(const addrinfo& address, Socket* out) {
  *out = open_socket(address);
  if (!out->is_open()) return errno;
  const int on = 1;
  setsockopt(out->descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(out->descriptor(), address.ai_addr, address.ai_addrlen) != 0) return errno;
  return listen(out->descriptor(), kBacklog) == 0 ? 0 : errno;
}

int connect_one(const addrinfo& address, SocketDeadline deadline, Socket* out) {
  *out = open_socket(address);
  if (!out->is_open()) return errno;
  if (connect(out->descriptor(), address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd waited{.fd = out->descriptor(), .events = POLLOUT, .revents = 0};
  int ready = 0;
  do {
    ready = poll(&waited, 1, milliseconds_until(deadline));
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(out->descriptor(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  return error;
}

}  // namespace

int milliseconds_until(SocketDeadline deadline) noexcept {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, INT_MAX));
}

SocketDeadline deadline_after(int64_t nanoseconds) noexcept {
  return std::chrono::steady_clock::now() +
         std::chrono::nanoseconds(std::clamp<int64_t>(nanoseconds, 0, kLongestWaitNs));
}

Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

int64_t Socket::send_some(const void* data, size_t bytes) noexcept {
  const ssize_t moved = send(descriptor_, data, bytes, MSG_NOSIGNAL);
  if (moved >= 0) return moved;
  return errno == EAGAIN || errno == EINTR ? 0 : -1;
}

int64_t Socket::receive_some(void* data, size_t bytes) noexcept {
  const ssize_t moved = recv(descriptor_, data, bytes, 0);
  if (moved > 0) return moved;
  return moved < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

Status Socket::wait_until_ready(short events, SocketDeadline deadline) noexcept {
  pollfd waited{.fd = descriptor_, .events = events, .revents = 0};
  int ready = 0;
  do {
    ready = poll(&waited, 1, milliseconds_until(deadline));
  } while (ready < 0 && errno == EINTR);
  if (ready != 0) return {};
  Status status = Status::failure(Code::kTimeout, "the store sent nothing until the deadline");
  status.native_code = ETIMEDOUT;  // unlike a key that was not set
  return status;
}

Status Socket::send_all(const void* data, size_t bytes, SocketDeadline deadline) noexcept {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const int64_t moved = send_some(next, bytes);
    if (moved < 0) return Status::failure(Code::kPeerLost, "the store closed the connection");
    next += moved;
    bytes -= static_cast<size_t>(moved);
    if (moved > 0) continue;
    if (Status status = wait_until_ready(POLLOUT, deadline); !status.ok()) return status;
  }
  return {};
}

Status Socket::receive_all(void* data, size_t bytes, SocketDeadline deadline) noexcept {
  char* next = static_cast<char*>(data);
  while (bytes > 0) {
    const int64_t moved = receive_some(next, bytes);
    if (moved < 0) return Status::failure(Code::kPeerLost, "the store closed the connection");
    next += moved;
    bytes -= static_cast<size_t>(moved);
    if (moved > 0) continue;
    if (Status status = wait_until_ready(POLLIN, deadline); !status.ok()) return status;
  }
  return {};
}

Status listen_at(const char* address, Socket* out, ListenAddress* out_bound) {
  HostPort place;
  Addresses list;
  if (Status status = parse(address, &place); !status.ok()) return status;
  if (Status status = resolve(place, AI_PASSIVE, &list); !status.ok()) return status;
  int error = EADDRNOTAVAIL;
  for (const addrinfo* next = list.get(); next != nullptr && error != 0; next = next->ai_next) {
    error = bind_and_listen(*next, out);
  }
  if (error != 0) return io_failure(error, "listen at", address);
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  getsockname(out->descriptor(), reinterpret_cast<sockaddr*>(&bound), &size);
  out_bound->local = local_address(bound);
  out_bound->text = joined(place.host, out_bound->local.substr(out_bound->local.rfind(':') + 1));
  return {};
}

Status connect_to(const char* address, SocketDeadline deadline, Socket* out) {
  HostPort place;
  Addresses list;
  if (Status status = parse(address, &place); !status.ok()) return status;
  if (Status status = resolve(place, 0, &list); !status.ok()) return status;
  int error = EADDRNOTAVAIL;
  for (const addrinfo* next = list.get(); next != nullptr && error != 0; next = next->ai_next) {
    error = connect_one(*next, deadline, out);
  }
  if (error != 0) return io_failure(error, "connect to the store at", address);
  set_options(*out);
  return {};
}

Socket accept_from(Socket& listener, int* out_error) noexcept {
  Socket socket(accept4(listener.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  *out_error = socket.is_open() ? 0 : errno;
  if (socket.is_open()) set_options(socket);
  return socket;
}

}  // namespace halftone
