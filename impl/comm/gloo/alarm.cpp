#include "comm/gloo/alarm.h"

#include "comm/control/signals_blocked.h"

namespace halftone {
namespace {

// Gloo closes the connections after that. The alarm ends every wait earlier.
constexpr std::chrono::hours kForever{100};
constexpr std::chrono::milliseconds kTick{20};
// After so many ticks without a wait the thread sleeps until the next one.
constexpr int kIdleTicks = 50;

}  // namespace

Alarm::Alarm() {
  const SignalsBlocked in_the_thread;
  thread_ = std::thread([this] { run(); });
}

Alarm::~Alarm() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    changed_.notify_one();
  }
  thread_.join();
}

bool Alarm::wait_received(MeshBuffer& buffer) {
  begin(buffer);
  try {
    const bool is_done = buffer.waitRecv(nullptr, kForever);
    end();
    return is_done;
  } catch (...) {
    end();
    throw;
  }
}

void Alarm::ring() noexcept {
  const std::lock_guard lock(mutex_);
  if (waiting_ != nullptr) waiting_->abortWaitRecv();
}

// Gloo's error goes before the end of the wait.
bool Alarm::has_ended(MeshBuffer& receiver) {
  receiver.abortWaitRecv();
  try {
    receiver.waitRecv(nullptr, kForever);
    return false;
  } catch (const std::exception&) {
    return true;
  }
}

void Alarm::begin(MeshBuffer& buffer) noexcept {
  const std::lock_guard lock(mutex_);
  waiting_ = &buffer;
  ++waits_;
  if (is_asleep_) changed_.notify_one();
}

void Alarm::end() noexcept {
  const std::lock_guard lock(mutex_);
  waiting_ = nullptr;
}

void Alarm::run() noexcept {
  std::unique_lock lock(mutex_);
  uint64_t seen = 0;
  int idle = 0;
  while (!is_stopped_) {
    is_asleep_ = idle >= kIdleTicks;
    if (is_asleep_) {
      changed_.wait(lock, [&] { return is_stopped_ || waiting_ != nullptr; });
    } else {
      changed_.wait_for(lock, kTick, [&] { return is_stopped_; });
    }
    is_asleep_ = false;
    if (waiting_ != nullptr && waits_ == seen) waiting_->abortWaitRecv();
    idle = waits_ == seen ? idle + 1 : 0;
    seen = waits_;
  }
}

}  // namespace halftone
