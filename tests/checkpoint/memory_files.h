// An Io table over files in memory. It fails on demand, and keeps a journal of all disk operations for
// for_each_crash_state (disk.h). One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/disk.h"
#include "core/io.h"

namespace halftone {

enum class IoCall { kOpen, kClose, kRead, kWrite, kSize, kSync, kRename, kRemove, kMakeDirectory, kList, kLock };
inline constexpr IoCall kEveryIoCall[] = {IoCall::kOpen,          IoCall::kClose, IoCall::kRead,   IoCall::kWrite,
                                          IoCall::kSize,          IoCall::kSync,  IoCall::kRename, IoCall::kRemove,
                                          IoCall::kMakeDirectory, IoCall::kList,  IoCall::kLock};
const char* name_of(IoCall call) noexcept;

struct IoFault {
  std::optional<IoCall> call;  // empty: calls of every kind count
  int64_t at;                  // the call that fails, counted from 0 after the fault was set
  int error;                   // errno
  bool for_ever;               // all later calls fail, too
};

class MemoryFiles {
 public:
  explicit MemoryFiles(Disk disk = {}) : disk_(std::move(disk)) {}
  MemoryFiles(const MemoryFiles&) = delete;
  MemoryFiles& operator=(const MemoryFiles&) = delete;

  const Io& io() const noexcept { return io_; }
  const Disk& disk() const noexcept { return disk_; }
  const std::vector<DiskOperation>& journal() const noexcept { return journal_; }
  int64_t open_files() const noexcept;
  bool exists(const std::string& path) const { return find(path).node.has_value(); }

  void set_fault(std::optional<IoFault> fault);
  // True if the fault was reached since it was set.
  bool has_failed() const noexcept { return has_failed_; }
  // The `at`-th read from now on, counted from 0, returns a first byte with one bit flipped.
  void flip_bit_of_read(int64_t at) { flipped_read_ = at; }
  bool has_flipped() const noexcept { return flipped_read_ < 0; }
  // After this call, each sync of a directory fails with this errno and makes nothing durable.
  void refuse_directory_syncs(int error) { directory_sync_error_ = error; }
  // After this call, each read and write moves one byte.
  void move_single_bytes() { moves_single_bytes_ = true; }
  // After this call, each call returns EINTR once before it works.
  void interrupt_every_call() { interrupts_ = true; }

 private:
  struct Table;  // the functions behind io_
  struct Handle {
    size_t node;
    bool is_open = true;
    bool is_locked = false;
  };
  struct Place {
    std::optional<size_t> directory;
    std::string name;
    std::optional<size_t> node;
  };

  int64_t refusal(IoCall call);  // 0 if the call may proceed, else -errno
  Place find(const std::string& path) const;
  Handle& handle(int64_t file) { return handles_.at(static_cast<size_t>(file) - kFirstFile); }
  void perform(DiskOperation operation);
  size_t make_node(const Place& place, bool is_directory);
  Io table() noexcept;

  static constexpr size_t kFirstFile = 3;

  Io io_ = table();
  Disk disk_;
  std::vector<Handle> handles_;
  std::vector<DiskOperation> journal_;
  std::optional<IoFault> fault_;
  int64_t calls_ = 0;
  bool has_failed_ = false;
  int64_t flipped_read_ = -1;  // counts down
  bool moves_single_bytes_ = false;
  bool interrupts_ = false;
  bool was_interrupted_ = false;
  int directory_sync_error_ = 0;
};

}  // namespace halftone
