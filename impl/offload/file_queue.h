// Reads and writes of one file that run beside the caller. A thread of the queue moves one piece of a transfer after
// another; a caller that waits takes pieces as well, so that two cores copy while neither computes. Used by one thread
// at a time.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>

#include "core/file.h"
#include "core/owner_process.h"

namespace halftone::offload {

// Bytes between a file and memory. The owner keeps it, and the memory, until FileQueue::finish has returned.
struct Transfer {
  uint64_t offset = 0;
  char* memory = nullptr;
  size_t size = 0;
  bool is_write = false;

  // The queue's, guarded by its mutex:
  size_t taken = 0;  // bytes that a thread moves or has moved
  int pieces = 0;    // that are being moved
  std::exception_ptr error;
  Transfer* next = nullptr;

  bool is_done() const noexcept { return taken == size && pieces == 0; }
};

class FileQueue {
 public:
  explicit FileQueue(File file);
  // Moves what was started. In a forked child, which has no such thread, only closes the file.
  ~FileQueue();
  FileQueue(const FileQueue&) = delete;
  FileQueue& operator=(const FileQueue&) = delete;

  // False in a forked child, which may not use the queue.
  bool is_here() const noexcept { return owner_.is_here(); }
  // Begins a transfer whose first four members are set. Transfers run in any order.
  void start(Transfer& transfer) noexcept;
  // Waits for it; its error is set if it failed, and the rest of it was not moved.
  void finish(Transfer& transfer) noexcept;

 private:
  struct Piece {
    Transfer* transfer;
    size_t begin, end;
  };

  void run();
  Piece take(Transfer* first) noexcept;
  bool can_take(const Transfer& transfer) const noexcept;
  void move(const Piece& piece, std::unique_lock<std::mutex>& lock) noexcept;
  void unlink(const Transfer& transfer) noexcept;

  const OwnerProcess owner_;
  File file_;
  const bool helps_;  // the caller takes pieces
  std::mutex mutex_;  // guards the members below and the transfers
  std::condition_variable changed_;
  Transfer* first_ = nullptr;  // of those with bytes that no thread has taken
  bool is_writing_ = false;
  bool is_closed_ = false;
  std::thread thread_;
};

}  // namespace halftone::offload
