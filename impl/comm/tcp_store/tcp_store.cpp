#include "comm/tcp_store/tcp_store.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>

#include "comm/control/process_place.h"
#include "comm/guarded.h"
#include "comm/tcp_store/server.h"
#include "core/error.h"
#include "core/foreign_function.h"

namespace halftone {
namespace {

constexpr int64_t kDefaultTimeoutNs = 60'000'000'000;
constexpr int64_t kLongestHandshakeNs = 10'000'000'000;
constexpr std::chrono::milliseconds kRetryInterval{20};
constexpr size_t kMaxIdle = 4;

OptionalText text_of(StoreValue value) {
  if (value.data == nullptr) return {};
  return {.exists = true, .text = std::string(static_cast<const char*>(value.data), value.bytes)};
}

Status handshake(Socket& socket, const std::string& secret, SocketDeadline deadline) {
  ServerHello server;
  ClientHello client;
  ServerDecision decision;
  Status status = socket.receive_all(&server, sizeof server, deadline);
  if (status.ok()) status = check_hello(server);
  if (status.ok()) status = make_client_hello(secret, server, &client);
  if (status.ok()) status = socket.send_all(&client, sizeof client, deadline);
  if (status.ok()) status = socket.receive_all(&decision, sizeof decision, deadline);
  return status.ok() ? check_decision(secret, server, client, decision) : status;
}

// A server that does not listen yet, or that closes a connection because strangers crowd it, may take the next one.
bool may_pass(const Status& status) {
  if (status.code == Code::kPeerLost) return true;
  if (status.code != Code::kIo) return false;
  return status.native_code == ECONNREFUSED || status.native_code == ECONNRESET || status.native_code == ETIMEDOUT;
}

class TcpStore final : public KeyValueStore {
 public:
  explicit TcpStore(const StoreOptions& options)
      : process_(getpid()),
        secret_(text_of(options.secret).text),
        timeout_ns_(options.timeout_ns > 0 ? options.timeout_ns : kDefaultTimeoutNs),
        address_(options.address != nullptr ? options.address : "") {
    if (options.is_server != 0) {
      server_ = std::make_unique<StoreServer>(options.address, secret_, std::min(timeout_ns_, kLongestHandshakeNs));
      address_ = server_->local_address();
    }
    Socket first;
    check(connect(true, deadline_after(timeout_ns_), &first));
    idle_.reserve(kMaxIdle);
    idle_.push_back(std::move(first));
    if (server_ == nullptr) return;
    const std::string place = process_place() + " " + std::to_string(process_);
    check(set(kServerProcess, {.data = place.data(), .bytes = place.size()}));
  }

  void destroy() noexcept override {
    if (is_forked() && server_ != nullptr) {
      server_->abandon();
      static_cast<void>(server_.release());
    }
    delete this;
  }

  Status set(const char* key, StoreValue value) noexcept override {
    return call([&](StoreRequest& request) {
      request.keys = {key};
      request.value = text_of(value);
    });
  }

  Status get(const char* key, int64_t timeout_ns, void* out, size_t capacity, size_t* out_bytes) noexcept override {
    StoreReply reply;
    Status status = call(
        [&](StoreRequest& request) {
          request.call = StoreCall::kGet;
          request.keys = {key};
          request.number = timeout_ns;
        },
        &reply);
    if (!status.ok()) return status;
    *out_bytes = reply.value.size();
    if (reply.value.size() > capacity) {
      return Status::failure(Code::kBufferTooSmall, "the value of \"%.64s\" has %zu bytes, the buffer %zu", key,
                             reply.value.size(), capacity);
    }
    if (!reply.value.empty()) std::memcpy(out, reply.value.data(), reply.value.size());
    return {};
  }

  Status wait(const char* const* keys, int32_t count, int64_t timeout_ns) noexcept override {
    return call([&](StoreRequest& request) {
      request.call = StoreCall::kWait;
      request.keys.assign(keys, keys + count);
      request.number = timeout_ns;
    });
  }

  Status add(const char* key, int64_t amount, int64_t* out_sum) noexcept override {
    StoreReply reply;
    Status status = call(
        [&](StoreRequest& request) {
          request.call = StoreCall::kAdd;
          request.keys = {key};
          request.number = amount;
        },
        &reply);
    if (status.ok()) *out_sum = reply.number;
    return status;
  }

  Status compare_set(const char* key, StoreValue expected, StoreValue desired, int32_t* out_swapped) noexcept override {
    StoreReply reply;
    Status status = call(
        [&](StoreRequest& request) {
          request.call = StoreCall::kCompareSet;
          request.keys = {key};
          request.value = text_of(expected);
          request.desired = text_of(desired);
        },
        &reply);
    if (status.ok()) *out_swapped = static_cast<int32_t>(reply.number);
    return status;
  }

  Status reopen(int64_t timeout_ns, KeyValueStore** out) noexcept override {
    return create_tcp_store({.address = address_.c_str(),
                             .secret = {.data = secret_.data(), .bytes = secret_.size()},
                             .timeout_ns = timeout_ns},
                            out);
  }

  Status remove(const char* key, int32_t* out_existed) noexcept override {
    StoreReply reply;
    Status status = call(
        [&](StoreRequest& request) {
          request.call = StoreCall::kRemove;
          request.keys = {key};
        },
        &reply);
    if (status.ok()) *out_existed = static_cast<int32_t>(reply.number);
    return status;
  }

 private:
  bool is_forked() const noexcept { return getpid() != process_; }

  // Fills a request, which may throw, and gets its reply.
  template <class Fill>
  Status call(Fill&& fill, StoreReply* out = nullptr) noexcept {
    const CancellationGuard no_cancellation;
    if (is_forked()) {
      return Status::failure(Code::kState, "the store belongs to process %d, which forked: open a store", process_);
    }
    try {
      StoreRequest request;
      StoreReply reply;
      fill(request);
      Status status = exchange(request, out != nullptr ? out : &reply);
      if (!status.ok()) return status;
      return (out != nullptr ? out : &reply)->status;
    } catch (const std::bad_alloc&) {
      return Status::failure(Code::kOutOfMemory, "no memory for a request to the store");
    } catch (const std::length_error&) {
      return Status::failure(Code::kOutOfMemory, "a value is too large for the store");
    }
  }

  // A call that waits keeps its connection, so the calls of other threads take others.
  Status exchange(const StoreRequest& request, StoreReply* out) {
    const std::string bytes = encode(request);
    if (bytes.size() > kMaxFrame) {
      return Status::failure(Code::kInvalidArgument, "a value of %zu bytes is too large for the store", bytes.size());
    }
    const bool waits = request.call == StoreCall::kGet || request.call == StoreCall::kWait;
    const SocketDeadline deadline =
        deadline_after(waits ? std::max<int64_t>(request.number, 0) : 0) + std::chrono::nanoseconds(timeout_ns_);
    Socket socket = take_idle();
    if (!socket.is_open()) {
      if (Status status = connect(false, deadline, &socket); !status.ok()) return status;
    }
    Status status = socket.send_all(bytes.data(), bytes.size(), deadline);
    if (status.ok()) status = receive(socket, deadline, out);
    if (status.ok()) put_idle(std::move(socket));
    return status.ok() ? status : at_address(status);
  }

  Status receive(Socket& socket, SocketDeadline deadline, StoreReply* out) {
    uint32_t size = 0;
    if (Status status = socket.receive_all(&size, sizeof size, deadline); !status.ok()) return status;
    std::string bytes(std::min(size, 2 * kMaxFrame), '\0');
    if (Status status = socket.receive_all(bytes.data(), bytes.size(), deadline); !status.ok()) return status;
    if (bytes.size() == size && decode(bytes, out)) return {};
    return Status::failure(Code::kFormat, "the store sent a reply that is none");
  }

  // A new store waits for its server; later, a refused connection means that the server is gone.
  Status connect(bool waits_for_server, SocketDeadline deadline, Socket* out) {
    for (;;) {
      Status status = connect_to(address_.c_str(), deadline, out);
      if (status.ok()) status = handshake(*out, secret_, deadline);
      if (status.ok() || !may_pass(status)) return status;
      const bool is_gone = status.code == Code::kIo && !waits_for_server;
      *out = Socket();
      if (is_gone || std::chrono::steady_clock::now() + kRetryInterval >= deadline) return at_address(status);
      std::this_thread::sleep_for(kRetryInterval);
    }
  }

  Status at_address(const Status& status) const noexcept {
    if (status.code == Code::kIo) return status;  // names it
    Status told = Status::failure(status.code, "%.150s (%.80s)", status.message, address_.c_str());
    told.native_code = status.native_code;
    return told;
  }

  Socket take_idle() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return {};
    Socket socket = std::move(idle_.back());
    idle_.pop_back();
    return socket;
  }

  void put_idle(Socket socket) noexcept {
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kMaxIdle) idle_.push_back(std::move(socket));  // has room
  }

  const int process_;
  const std::string secret_;
  const int64_t timeout_ns_;
  std::string address_;
  std::unique_ptr<StoreServer> server_;
  std::mutex mutex_;          // guards idle_
  std::vector<Socket> idle_;  // connections without a call
};

}  // namespace

Status create_tcp_store(const StoreOptions& options, KeyValueStore** out) noexcept {
  const CancellationGuard no_cancellation;
  *out = nullptr;
  return guarded([&] { *out = new TcpStore(options); });
}

}  // namespace halftone
