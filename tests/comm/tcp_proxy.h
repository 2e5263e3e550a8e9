// A TCP connection through a network that is slow or faulty: the proxy listens on the loopback, connects to the real
// address, and forwards the bytes of one connection in both directions. Faults are set by any thread at any time.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

namespace halftone {

struct Link {
  std::chrono::milliseconds delay{0};
  int64_t bytes_per_second = 0;  // 0: as fast as it goes
  size_t segment_bytes = 65536;  // of each write
};

class TcpProxy {
 public:
  TcpProxy(const sockaddr_in& target, const Link& link) : link_(link), target_(target) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address_ = target;
    address_.sin_port = 0;
    socklen_t bytes = sizeof address_;
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address_), bytes), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address_), &bytes), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    threads_.emplace_back([this] { run(); });
  }
  ~TcpProxy() {
    shutdown(listener_, SHUT_RDWR);
    cut();
    for (std::thread& thread : threads_) thread.join();
    for (const int file : {listener_, client_.load(), server_.load()}) close(file);
  }
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  // The target's address with the port at which the proxy listens.
  const sockaddr_in& address() const { return address_; }
  int64_t forwarded_bytes() const { return forwarded_; }

  // From now on bytes are taken and none comes out, and neither side learns of the end of the other.
  void stall() { is_stalled_ = true; }
  // Ends the connection.
  void cut() {
    for (const int file : {client_.load(), server_.load()}) {
      if (file >= 0) shutdown(file, SHUT_RDWR);
    }
  }
  // Changes one bit in the next bytes that equal `pattern`.
  void damage(const std::string& pattern) {
    const std::lock_guard lock(mutex_);
    pattern_ = pattern;
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Chunk {
    Clock::time_point due;
    std::string bytes;  // empty: the end
  };
  // The bytes that one side has sent and the other does not have yet.
  struct Way {
    std::mutex mutex;
    std::condition_variable filled;
    std::deque<Chunk> chunks;
  };

  void run() {
    client_ = accept(listener_, nullptr, nullptr);
    if (client_ < 0) return;
    server_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(server_, reinterpret_cast<const sockaddr*>(&target_), sizeof target_) != 0) return cut();
    for (const int file : {client_.load(), server_.load()}) {
      const int on = 1;
      setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    std::thread back_reader([this] { read(server_, back_); });
    std::thread back_writer([this] { write(client_, back_); });
    std::thread there_writer([this] { write(server_, there_); });
    read(client_, there_);
    for (std::thread* thread : {&back_reader, &back_writer, &there_writer}) thread->join();
  }

  void read(int from, Way& way) {
    for (bool is_open = true; is_open;) {
      std::string bytes(65536, '\0');
      const ssize_t count = recv(from, bytes.data(), bytes.size(), 0);
      is_open = count > 0;
      bytes.resize(is_open ? static_cast<size_t>(count) : 0);
      const std::lock_guard lock(way.mutex);
      way.chunks.push_back({Clock::now() + link_.delay, std::move(bytes)});
      way.filled.notify_one();
    }
  }

  void write(int to, Way& way) {
    for (;;) {
      std::unique_lock lock(way.mutex);
      way.filled.wait(lock, [&] { return !way.chunks.empty(); });
      Chunk chunk = std::move(way.chunks.front());
      way.chunks.pop_front();
      lock.unlock();
      std::this_thread::sleep_until(chunk.due);
      if (chunk.bytes.empty()) break;
      damage_chunk(chunk.bytes);
      if (!is_stalled_) write_segments(to, chunk.bytes);
    }
    if (!is_stalled_) shutdown(to, SHUT_WR);
  }

  void write_segments(int to, const std::string& bytes) {
    for (size_t begin = 0; begin < bytes.size(); begin += link_.segment_bytes) {
      const size_t size = std::min(link_.segment_bytes, bytes.size() - begin);
      for (size_t sent = 0; sent < size;) {
        const ssize_t count = send(to, bytes.data() + begin + sent, size - sent, MSG_NOSIGNAL);
        if (count <= 0) return;
        sent += static_cast<size_t>(count);
      }
      forwarded_ += static_cast<int64_t>(size);
    }
    if (link_.bytes_per_second == 0) return;
    const auto size = static_cast<double>(bytes.size());
    std::this_thread::sleep_for(std::chrono::duration<double>(size / static_cast<double>(link_.bytes_per_second)));
  }

  void damage_chunk(std::string& bytes) {
    const std::lock_guard lock(mutex_);
    const size_t place = pattern_.empty() ? std::string::npos : bytes.find(pattern_);
    if (place == std::string::npos) return;
    bytes[place + pattern_.size() / 2] ^= 1;
    pattern_.clear();
  }

  const Link link_;
  const sockaddr_in target_;
  sockaddr_in address_{};
  int listener_ = -1;
  std::atomic<int> client_{-1};
  std::atomic<int> server_{-1};
  std::atomic<bool> is_stalled_{false};
  std::atomic<int64_t> forwarded_{0};
  std::mutex mutex_;  // guards pattern_
  std::string pattern_;
  Way there_;
  Way back_;
  std::vector<std::thread> threads_;
};

}  // namespace halftone
