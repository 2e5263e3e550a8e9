// A file reached through the Io table. Every failure is an IO error that says what was tried, the path and errno's
// text. One thread at a time.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/io.h"

namespace halftone::checkpoint {

class File {
 public:
  // For reading. Throws IO, for anything but a regular file as well.
  static File open(const Io& io, const std::string& path);
  // For writing, empty. Throws IO, for a link as well: what it leads to is not ours to overwrite.
  static File create(const Io& io, const std::string& path);
  // For writing, under a name of its own beside `path`, to be renamed to it. What has such a name already stays: a file
  // of somebody else, or of another save to the same path. Throws IO.
  static File create_beside(const Io& io, const std::string& path);
  // For reading and writing, with what it holds where it is there. Throws IO, for a link as well.
  static File open_or_create(const Io& io, const std::string& path);
  // A directory, to be synced. Throws IO.
  static File open_directory(const Io& io, const std::string& path);

  File(File&& other) noexcept;
  File& operator=(File&&) = delete;
  ~File();

  const std::string& path() const noexcept { return path_; }
  const Io& io() const noexcept { return io_; }
  // As it was when the file was opened.
  uint64_t size() const noexcept { return size_; }

  // Reads exactly `size` bytes. Throws IO, FORMAT where the file ends before.
  void read(uint64_t offset, void* buffer, size_t size) const;
  // Reads from the beginning what is there, at most `size` bytes.
  void read_up_to(void* buffer, size_t size) const;
  void write(uint64_t offset, const void* data, size_t size);
  void sync();
  // Reports what the system held back until now; the destructor closes without a word.
  void close();
  // Answers false where another holds the lock.
  bool lock();
  // For a forked child, which must not hold what its parent opened: closes the descriptor that it has of the file,
  // where the system's own table can do so.
  void forget() noexcept;

 private:
  File(const Io& io, const std::string& path, int32_t flags, const char* attempt);
  size_t read_some(uint64_t offset, void* buffer, size_t size) const;

  const Io& io_;
  std::string path_;
  int64_t file_;
  uint64_t size_ = 0;
};

void rename(const Io& io, const std::string& from, const std::string& to);
// Where there is none already. Answers whether it was made.
bool make_directory(const Io& io, const std::string& path);
// Whether something of that name can be opened for reading. Throws IO where that cannot be told.
bool exists(const Io& io, const std::string& path);
// Whether a regular file, or a link to one, can be opened for reading under that name. Throws IO where that cannot be
// told.
bool is_file(const Io& io, const std::string& path);
// Whether a directory has that name, and no link to one. Throws IO where that cannot be told.
bool is_directory(const Io& io, const std::string& path);
// Removes a file or an empty directory where there is one.
void remove(const Io& io, const std::string& path);
// Answers whether nothing of that name is left, and says no more where that fails.
bool remove_quietly(const Io& io, const std::string& path) noexcept;
void sync_directory(const Io& io, const std::string& path);
// The directory that a path lies in: "a" of "a/b" and of "a/b/", "." of "b", "/" of "/".
std::string parent_of(const std::string& path);

// Repeats a call of a host's table that answers EINTR; the system's own table repeats by itself.
template <class Call>
int64_t uninterrupted(Call&& call) {
  int64_t result = call();
  while (result == -EINTR) result = call();
  return result;
}

[[noreturn]] void fail_io(const char* attempt, const std::string& path, int64_t negative_errno);

}  // namespace halftone::checkpoint
