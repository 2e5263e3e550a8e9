#include "comm/tcp_store/connection.h"

#include <poll.h>

#include <algorithm>
#include <cstring>

namespace halftone {
namespace {

constexpr size_t kReadBytes = size_t{64} << 10;

StoreValue value_of(const std::string& text) { return {.data = text.data(), .bytes = text.size()}; }
StoreValue value_of(const OptionalText& value) { return value.exists ? value_of(value.text) : StoreValue{}; }

// Only this thread uses the entries, so the size holds for the second call.
Status get_now(KeyValueStore& entries, const char* key, std::string* out) {
  size_t bytes = 0;
  Status status = entries.get(key, 0, nullptr, 0, &bytes);
  if (status.code != Code::kBufferTooSmall) return status;
  out->resize(bytes);
  return entries.get(key, 0, out->data(), bytes, &bytes);
}

Status wait_now(KeyValueStore& entries, const std::vector<std::string>& keys) {
  std::vector<const char*> names;
  for (const std::string& key : keys) names.push_back(key.c_str());
  return entries.wait(names.data(), static_cast<int32_t>(names.size()), 0);
}

StoreReply answer(KeyValueStore& entries, const StoreRequest& request) {
  StoreReply reply;
  int32_t flag = 0;
  switch (request.call) {
    case StoreCall::kSet:
      reply.status = entries.set(request.keys[0].c_str(), value_of(request.value.text));
      break;
    case StoreCall::kGet:
      reply.status = get_now(entries, request.keys[0].c_str(), &reply.value);
      break;
    case StoreCall::kWait:
      reply.status = wait_now(entries, request.keys);
      break;
    case StoreCall::kAdd:
      reply.status = entries.add(request.keys[0].c_str(), request.number, &reply.number);
      break;
    case StoreCall::kCompareSet:
      reply.status =
          entries.compare_set(request.keys[0].c_str(), value_of(request.value), value_of(request.desired), &flag);
      reply.number = flag;
      break;
    case StoreCall::kRemove:
      reply.status = entries.remove(request.keys[0].c_str(), &flag);
      reply.number = flag;
      break;
  }
  return reply;
}

bool waits(StoreCall call) { return call == StoreCall::kGet || call == StoreCall::kWait; }

}  // namespace

StoreConnection::StoreConnection(Socket socket, const std::string& secret, KeyValueStore& entries,
                                 SocketDeadline deadline)
    : socket_(std::move(socket)), secret_(secret), entries_(entries), deadline_(deadline) {
  if (!make_server_hello(&hello_).ok()) {
    close();
    return;
  }
  reply(std::string(reinterpret_cast<const char*>(&hello_), sizeof hello_));
  flush();
}

// A client that does not read its replies gets no further request read, so that its replies do not pile up.
short StoreConnection::events() const noexcept {
  if (sent_ < output_.size()) return POLLOUT;
  return is_waiting_ ? POLLRDHUP : POLLIN | POLLRDHUP;
}

void StoreConnection::handle(short ready) {
  if ((ready & (POLLERR | POLLNVAL)) != 0) close();
  if (is_waiting_ && (ready & (POLLRDHUP | POLLHUP)) != 0) close();
  if (is_closed_) return;
  if (sent_ < output_.size()) {
    flush();
    if (!is_closed_ && sent_ == output_.size()) take_input();
  } else if ((ready & (POLLIN | POLLHUP | POLLRDHUP)) != 0 && receive()) {
    take_input();
  }
}

void StoreConnection::reply(const std::string& bytes) {
  if (sent_ == output_.size()) {
    output_.clear();
    sent_ = 0;
  }
  output_ += bytes;
}

void StoreConnection::flush() {
  const int64_t moved = socket_.send_some(output_.data() + sent_, output_.size() - sent_);
  if (moved < 0) return close();
  sent_ += static_cast<size_t>(moved);
  if (sent_ < output_.size()) return;
  output_ = {};
  sent_ = 0;
  if (closes_after_flush_) close();
}

// Before the handshake is done, no more than its one message is read.
bool StoreConnection::receive() {
  const size_t wanted = is_authenticated_ ? kReadBytes : sizeof(ClientHello) - input_.size();
  const size_t before = input_.size();
  input_.resize(before + wanted);
  const int64_t moved = socket_.receive_some(input_.data() + before, wanted);
  input_.resize(before + static_cast<size_t>(std::max<int64_t>(moved, 0)));
  if (moved < 0) close();
  return moved > 0;
}

bool StoreConnection::take_input() {
  if (!is_authenticated_ && !take_hello()) return false;
  bool has_run = false;
  while (!is_closed_ && !is_waiting_ && sent_ == output_.size() && take_request()) has_run = true;
  return has_run;
}

bool StoreConnection::take_hello() {
  if (closes_after_flush_ || input_.size() < sizeof(ClientHello)) return false;
  ClientHello client;
  std::memcpy(&client, input_.data(), sizeof client);
  input_.clear();
  ServerDecision decision;
  if (!judge(secret_, hello_, client, &decision)) {
    close();
    return false;
  }
  is_authenticated_ = decision.decision == Decision::kAccepted;
  closes_after_flush_ = !is_authenticated_;
  reply(std::string(reinterpret_cast<const char*>(&decision), sizeof decision));
  flush();
  return is_authenticated_;
}

// Returns true if a whole request was there.
bool StoreConnection::take_request() {
  uint32_t size = 0;
  if (input_.size() < sizeof size) return false;
  std::memcpy(&size, input_.data(), sizeof size);
  if (size > kMaxFrame) {
    close();
    return false;
  }
  if (input_.size() - sizeof size < size) return false;
  request_ = {};
  const bool is_request = decode(std::string_view(input_).substr(sizeof size, size), &request_);
  input_.erase(0, sizeof size + size);
  if (input_.empty()) input_ = {};
  if (!is_request) {
    close();
    return false;
  }
  if (waits(request_.call)) deadline_ = deadline_after(request_.number);
  is_waiting_ = !execute(std::chrono::steady_clock::now() >= deadline_ || !waits(request_.call));
  return true;
}

bool StoreConnection::execute(bool is_over) {
  const StoreReply result = answer(entries_, request_);
  if (result.status.code == Code::kTimeout && !is_over) return false;
  reply(encode(result));
  flush();
  return true;
}

bool StoreConnection::check_wait() {
  const bool is_over = std::chrono::steady_clock::now() >= deadline_;
  if (!is_authenticated_ && is_over) close();
  if (is_closed_ || !is_waiting_ || !execute(is_over)) return false;
  is_waiting_ = false;
  return take_input();
}

}  // namespace halftone
