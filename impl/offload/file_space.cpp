#include "offload/file_space.h"

#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/file.h"
#include "core/owner_process.h"

namespace halftone::offload {
namespace {

// Zeros are written in pieces of this size.
constexpr size_t kZeros = size_t{1} << 20;

// All signals are for the threads of the program.
class BlockedSignals {
 public:
  BlockedSignals() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &previous_, nullptr); }

 private:
  sigset_t previous_;
};

File make_file(const Io& io, const std::string& directory) {
  File file = File::create_beside(io, directory + "/halftone-offload");
  remove(io, file.path());
  return file;
}

}  // namespace

// A slot is in the queue while its transfer waits for the thread. A new slot is blank: it reads as zeros, and its part
// of the file, which another slot may have had, is not there or not cleared.
class FileSpace::Slot final : public SwapSlot {
 public:
  Slot(std::shared_ptr<Queue> queue, size_t bytes);
  ~Slot() override;

  void start_read(size_t begin, void* memory, size_t bytes) noexcept override;
  void start_write(size_t begin, const void* memory, size_t bytes) noexcept override;
  void wait() override;

 private:
  friend struct Queue;
  void start(size_t begin, void* memory, size_t bytes, bool is_write) noexcept;
  void finish() noexcept;
  // The thread's.
  void transfer(File& file);
  void clear(File& file);

  const std::shared_ptr<Queue> queue_;
  const size_t bytes_;
  const uint64_t offset_;
  bool is_blank_ = true;
  // The transfer:
  size_t begin_ = 0;
  void* memory_ = nullptr;
  size_t size_ = 0;
  bool is_write_ = false;
  bool is_under_way_ = false;  // guarded by the queue's mutex
  std::exception_ptr error_;
  Slot* next_ = nullptr;  // in the queue
};

struct FileSpace::Queue {
  Queue(const Io& io, const std::string& directory) : file(make_file(io, directory)) {
    const BlockedSignals blocked;
    thread = std::thread([this] { run(); });
  }
  ~Queue() {
    if (!owner.is_here()) {
      abandon();
      return;
    }
    {
      const std::lock_guard lock(mutex);
      is_closed = true;
      changed.notify_all();
    }
    thread.join();
  }

  uint64_t take_place(size_t bytes);
  void give_back(uint64_t place, size_t bytes) noexcept;
  void run();
  // A forked child has no such thread.
  void abandon() noexcept {
    file.forget();
    new std::thread(std::move(thread));  // never joined: that would end the process
  }

  const OwnerProcess owner;
  File file;
  std::mutex mutex;  // guards the members below
  std::condition_variable changed;
  uint64_t end = 0;                                  // of all slots so far
  std::map<size_t, std::vector<uint64_t>> released;  // places of former slots, by size
  Slot* first = nullptr;
  Slot* last = nullptr;
  bool is_closed = false;
  std::thread thread;
};

uint64_t FileSpace::Queue::take_place(size_t bytes) {
  const std::lock_guard lock(mutex);
  const auto found = released.find(bytes);
  if (found == released.end() || found->second.empty()) return std::exchange(end, end + bytes);
  const uint64_t place = found->second.back();
  found->second.pop_back();
  return place;
}

void FileSpace::Queue::give_back(uint64_t place, size_t bytes) noexcept {
  const std::lock_guard lock(mutex);
  try {
    released[bytes].push_back(place);
  } catch (const std::bad_alloc&) {
    // A part of the file stays unused.
  }
}

void FileSpace::Queue::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [this] { return is_closed || first != nullptr; });
    if (first == nullptr) return;
    Slot& slot = *first;
    first = slot.next_;
    if (first == nullptr) last = nullptr;
    lock.unlock();
    try {
      slot.transfer(file);
    } catch (...) {
      slot.error_ = std::current_exception();
    }
    lock.lock();
    slot.is_under_way_ = false;
    changed.notify_all();
  }
}

FileSpace::Slot::Slot(std::shared_ptr<Queue> queue, size_t bytes)
    : queue_(std::move(queue)), bytes_(bytes), offset_(queue_->take_place(bytes)) {}

FileSpace::Slot::~Slot() {
  if (!queue_->owner.is_here()) return;
  finish();
  queue_->give_back(offset_, bytes_);
}

void FileSpace::Slot::start_read(size_t begin, void* memory, size_t bytes) noexcept {
  start(begin, memory, bytes, false);
}

void FileSpace::Slot::start_write(size_t begin, const void* memory, size_t bytes) noexcept {
  start(begin, const_cast<void*>(memory), bytes, true);
}

void FileSpace::Slot::start(size_t begin, void* memory, size_t bytes, bool is_write) noexcept {
  begin_ = begin;
  memory_ = memory;
  size_ = bytes;
  is_write_ = is_write;
  next_ = nullptr;
  if (!queue_->owner.is_here()) return;  // wait() tells
  const std::lock_guard lock(queue_->mutex);
  is_under_way_ = true;
  (queue_->last != nullptr ? queue_->last->next_ : queue_->first) = this;
  queue_->last = this;
  queue_->changed.notify_all();
}

void FileSpace::Slot::finish() noexcept {
  std::unique_lock lock(queue_->mutex);
  queue_->changed.wait(lock, [this] { return !is_under_way_; });
}

void FileSpace::Slot::wait() {
  if (!queue_->owner.is_here()) fail(Code::kState, "", "the state was offloaded to a file by another process");
  finish();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void FileSpace::Slot::transfer(File& file) {
  if (size_ == 0) return;  // the memory of a page without elements is null
  if (!is_write_) {
    if (is_blank_) {
      std::memset(memory_, 0, size_);
    } else {
      file.read(offset_ + begin_, memory_, size_);
    }
    return;
  }
  if (is_blank_ && size_ < bytes_) clear(file);
  file.write(offset_ + begin_, memory_, size_);
  is_blank_ = false;
}

void FileSpace::Slot::clear(File& file) {
  const std::vector<char> zeros(std::min(bytes_, kZeros));
  for (size_t done = 0; done < bytes_; done += zeros.size()) {
    file.write(offset_ + done, zeros.data(), std::min(zeros.size(), bytes_ - done));
  }
}

FileSpace::FileSpace(ContextDevice& device, const std::string& directory) {
  if (!device.device->host_accessible()) {
    fail(Code::kUnsupported, "options",
         "options.offload: host code cannot read memory of %s, so that its state cannot go to a %s",
         device.device->name(), "file; expected HTONE_OFFLOAD_HOST");
  }
  queue_ = std::make_shared<Queue>(device.context->io(), directory);
}

FileSpace::~FileSpace() = default;

std::unique_ptr<SwapSlot> FileSpace::make_slot(size_t bytes) { return std::make_unique<Slot>(queue_, bytes); }

}  // namespace halftone::offload
