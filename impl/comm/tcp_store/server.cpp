#include "comm/tcp_store/server.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <new>

#include "comm/control/signals_blocked.h"
#include "comm/group/groups.h"
#include "core/error.h"
#include "core/foreign_function.h"

namespace halftone {
namespace {

// Clients that have not passed the handshake. One more closes the oldest.
constexpr size_t kMaxStrangers = 64;
constexpr int64_t kPauseNs = 50'000'000;
constexpr size_t kFirstClient = 2;  // of the descriptors that poll() sees: the wake-up and the listener come first

OwnedStore make_entries(const std::string& address) {
  KeyValueStore* store = nullptr;
  check(create_memory_store({}, &store));
  OwnedStore entries(store);
  check(entries->set("store/address", {.data = address.data(), .bytes = address.size()}));
  return entries;
}

}  // namespace

StoreServer::StoreServer(const char* address, std::string secret, int64_t handshake_ns)
    : secret_(std::move(secret)), handshake_ns_(handshake_ns) {
  check(listen_at(address, &listener_, &address_));
  entries_ = make_entries(address_.text);
  wake_ = Socket(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake_.is_open()) fail(Code::kIo, "address", "cannot open an event for the store: error %d", errno);
  start();
}

StoreServer::~StoreServer() {
  const CancellationGuard no_cancellation;
  is_stopped_ = true;
  eventfd_write(wake_.descriptor(), 1);
  pthread_join(thread_, nullptr);
}

void StoreServer::start() {
  const SignalsBlocked in_the_thread;
  const int error = pthread_create(&thread_, nullptr, work, this);
  if (error != 0) fail(Code::kOutOfMemory, "", "cannot start the thread of a store: error %d", error);
}

void* StoreServer::work(void* self) noexcept {
  static_cast<StoreServer*>(self)->run();
  return nullptr;
}

// Without memory for a round, clients are lost, but not the store.
void StoreServer::run() noexcept {
  std::vector<pollfd> waited;
  while (!is_stopped_) {
    try {
      wait(waited);
      serve(waited);
    } catch (const std::bad_alloc&) {
      drop_oldest_stranger();
    }
    while (check_waits()) {
    }
    remove_closed();
  }
}

void StoreServer::wait(std::vector<pollfd>& waited) const {
  const bool accepts = std::chrono::steady_clock::now() >= accepts_from_;
  int timeout = accepts ? -1 : milliseconds_until(accepts_from_);
  waited.clear();
  waited.push_back({.fd = wake_.descriptor(), .events = POLLIN, .revents = 0});
  waited.push_back({.fd = accepts ? listener_.descriptor() : -1, .events = POLLIN, .revents = 0});
  for (const auto& client : clients_) {
    waited.push_back({.fd = client->descriptor(), .events = client->events(), .revents = 0});
    if (!client->has_deadline()) continue;
    const int left = milliseconds_until(client->deadline());
    timeout = timeout < 0 ? left : std::min(timeout, left);
  }
  if (poll(waited.data(), waited.size(), timeout) < 0) {
    for (pollfd& entry : waited) entry.revents = 0;
  }
}

void StoreServer::serve(const std::vector<pollfd>& waited) {
  for (size_t i = kFirstClient; i < waited.size(); ++i) {
    if (waited[i].revents == 0) continue;
    StoreConnection& client = *clients_[i - kFirstClient];
    try {
      client.handle(waited[i].revents);
    } catch (const std::bad_alloc&) {
      client.close();
    }
  }
  if (waited[1].revents != 0) accept_clients();
}

void StoreServer::accept_clients() {
  for (;;) {
    int error = 0;
    Socket socket = accept_from(listener_, &error);
    if (socket.is_open()) {
      add_client(std::move(socket));
    } else if (error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS) {
      drop_oldest_stranger();
      accepts_from_ = deadline_after(kPauseNs);
      return;
    } else if (error == EAGAIN) {
      return;
    }
  }
}

void StoreServer::add_client(Socket socket) {
  const auto is_stranger = [](const auto& client) { return !client->is_authenticated() && !client->is_closed(); };
  const auto strangers = std::count_if(clients_.begin(), clients_.end(), is_stranger);
  if (static_cast<size_t>(strangers) >= kMaxStrangers) drop_oldest_stranger();
  clients_.push_back(
      std::make_unique<StoreConnection>(std::move(socket), secret_, *entries_, deadline_after(handshake_ns_)));
}

// Returns true if requests have run, which may end other waits.
bool StoreServer::check_waits() noexcept {
  bool has_run = false;
  for (const auto& client : clients_) {
    if (client->is_closed() || !client->has_deadline()) continue;
    try {
      has_run = client->check_wait() || has_run;
    } catch (const std::bad_alloc&) {
      client->close();
    }
  }
  return has_run;
}

void StoreServer::drop_oldest_stranger() noexcept {
  const auto is_stranger = [](const auto& client) { return !client->is_authenticated() && !client->is_closed(); };
  const auto oldest = std::find_if(clients_.begin(), clients_.end(), is_stranger);
  if (oldest == clients_.end()) return;
  (*oldest)->close();
  clients_.erase(oldest);
}

void StoreServer::remove_closed() noexcept {
  std::erase_if(clients_, [](const auto& client) { return client->is_closed(); });
}

}  // namespace halftone
