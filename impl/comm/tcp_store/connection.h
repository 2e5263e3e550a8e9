// One client of the store's server: the handshake, then requests one after another, each with its reply before the next
// is read. Never blocks. Used by the server's thread.
#pragma once

#include <memory>
#include <string>

#include "comm/group/owned.h"
#include "comm/tcp_store/handshake.h"
#include "comm/tcp_store/socket.h"
#include "comm/tcp_store/wire.h"

namespace halftone {

class StoreConnection {
 public:
  // The handshake ends at the deadline. Throws OUT_OF_MEMORY.
  StoreConnection(Socket socket, const std::string& secret, KeyValueStore& entries, SocketDeadline deadline);

  int descriptor() const noexcept { return socket_.descriptor(); }
  short events() const noexcept;
  bool is_authenticated() const noexcept { return is_authenticated_; }
  bool is_closed() const noexcept { return is_closed_; }
  // The end of the handshake, or of a wait for keys.
  bool has_deadline() const noexcept { return !is_authenticated_ || is_waiting_; }
  SocketDeadline deadline() const noexcept { return deadline_; }

  // Moves what can be moved. Throws OUT_OF_MEMORY.
  void handle(short ready);
  // Ends a wait whose keys are there, or that is over, and a handshake that is over. Returns true if further requests
  // have run, which may end the waits of others. Throws OUT_OF_MEMORY.
  bool check_wait();
  void close() noexcept { is_closed_ = true; }

 private:
  void flush();
  bool receive();
  // Returns true if a request has run.
  bool take_input();
  bool take_hello();
  bool take_request();
  // false if the request waits.
  bool execute(bool is_over);
  void reply(const std::string& bytes);

  Socket socket_;
  const std::string& secret_;
  KeyValueStore& entries_;
  SocketDeadline deadline_;
  ServerHello hello_;
  bool is_authenticated_ = false;
  bool is_waiting_ = false;
  bool is_closed_ = false;
  bool closes_after_flush_ = false;
  StoreRequest request_;
  std::string input_;
  std::string output_;
  size_t sent_ = 0;
};

}  // namespace halftone
