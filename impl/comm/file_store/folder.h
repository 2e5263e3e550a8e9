// The files of a file store: small files in one folder, which change at once and never in part. Every function throws
// IO with errno. Safe from any thread and process; what must not interleave is done under a FolderLock.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace halftone {

class Folder {
 public:
  static constexpr size_t kLargestFile = size_t{1} << 20;

  // Creates the folder, for this user alone, if there is none. Its parent exists. Throws IO for a folder that another
  // user owns or may write: what lies there could be anyone's.
  explicit Folder(std::string path);

  // Null if there is no such file. Throws FORMAT for one above kLargestFile, which no store wrote.
  std::optional<std::string> read(const std::string& name) const;
  // Replaces the file. REQUIRES: a FolderLock is held
  void write(const std::string& name, const void* data, size_t bytes) const;
  // Returns false if there was no such file. REQUIRES: a FolderLock is held
  bool remove(const std::string& name) const;

  std::string path_of(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Excludes all other writers, in this process and in others, on this machine and on others that share the folder. The
// system releases the lock of a process that ends.
class FolderLock {
 public:
  // Throws TIMEOUT if another process keeps the lock for longer than any call takes, as one that is stopped does.
  explicit FolderLock(const Folder& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int64_t file_;
};

// Waits between looks at a folder, whose changes wake no process: first briefly, later longer.
class Pause {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit Pause(Time deadline) : deadline_(deadline) {}
  // Returns false, without a wait, when the deadline has passed.
  bool wait();

 private:
  const Time deadline_;
  std::chrono::nanoseconds length_ = std::chrono::milliseconds(1);
};

}  // namespace halftone
