#include "offload/file_queue.h"

#include <signal.h>

#include <algorithm>
#include <utility>

namespace halftone::offload {
namespace {

// Small enough that the caller and the thread end together, large enough that taking one costs nothing.
constexpr size_t kPiece = size_t{1} << 20;

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

// A caller's table need not serve two threads in one file.
bool is_systems(const Io& io) noexcept { return io.read == system_io().read && io.write == system_io().write; }

}  // namespace

FileQueue::FileQueue(File file) : file_(std::move(file)), helps_(is_systems(file_.io())) {
  const BlockedSignals blocked;
  thread_ = std::thread([this] { run(); });
}

FileQueue::~FileQueue() {
  if (!owner_.is_here()) {
    file_.forget();
    new std::thread(std::move(thread_));  // never joined: that would end the process
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void FileQueue::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const Piece piece = take(nullptr);
    if (piece.transfer != nullptr) {
      move(piece, lock);
    } else if (is_closed_ && first_ == nullptr) {
      return;
    } else {
      changed_.wait(lock);
    }
  }
}

void FileQueue::start(Transfer& transfer) noexcept {
  transfer.taken = 0;
  transfer.next = nullptr;
  if (transfer.size == 0) return;
  const std::lock_guard lock(mutex_);
  Transfer** end = &first_;
  while (*end != nullptr) end = &(*end)->next;
  *end = &transfer;
  changed_.notify_all();
}

void FileQueue::finish(Transfer& transfer) noexcept {
  std::unique_lock lock(mutex_);
  while (!transfer.is_done()) {
    const Piece piece = helps_ ? take(&transfer) : Piece{};
    if (piece.transfer != nullptr) {
      move(piece, lock);
    } else {
      changed_.wait(lock);
    }
  }
}

// Two writes into one file wait for each other in the system, so that only one is begun.
bool FileQueue::can_take(const Transfer& transfer) const noexcept {
  return transfer.taken < transfer.size && !(transfer.is_write && is_writing_);
}

FileQueue::Piece FileQueue::take(Transfer* first) noexcept {
  Transfer* found = first != nullptr && can_take(*first) ? first : first_;
  while (found != nullptr && !can_take(*found)) found = found->next;
  if (found == nullptr) return {};
  const size_t begin = std::exchange(found->taken, std::min(found->taken + kPiece, found->size));
  if (found->taken == found->size) unlink(*found);
  ++found->pieces;
  if (found->is_write) is_writing_ = true;
  return {found, begin, found->taken};
}

void FileQueue::move(const Piece& piece, std::unique_lock<std::mutex>& lock) noexcept {
  Transfer& transfer = *piece.transfer;
  std::exception_ptr error;
  lock.unlock();
  try {
    char* const memory = transfer.memory + piece.begin;
    const uint64_t offset = transfer.offset + piece.begin;
    if (transfer.is_write) {
      file_.write(offset, memory, piece.end - piece.begin);
    } else {
      file_.read(offset, memory, piece.end - piece.begin);
    }
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  if (transfer.is_write) is_writing_ = false;
  --transfer.pieces;
  if (error) {
    if (transfer.taken < transfer.size) unlink(transfer);
    transfer.taken = transfer.size;
    transfer.error = error;
  }
  changed_.notify_all();
}

void FileQueue::unlink(const Transfer& transfer) noexcept {
  for (Transfer** link = &first_; *link != nullptr; link = &(*link)->next) {
    if (*link != &transfer) continue;
    *link = transfer.next;
    return;
  }
}

}  // namespace halftone::offload
