// A file reached through the Io table. Every failure is an IO error with the attempted action, the path and the text of
// errno. One thread at a time.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "core/io.h"

namespace halftone {

class File {
 public:
  // For reading. Throws IO, also for anything but a regular file.
  static File open(const Io& io, const std::string& path);
  // For writing, empty. Throws IO, also for a link: the file that it points to may belong to another user.
  static File create(const Io& io, const std::string& path);
  // For writing, under a new name beside `path`, to be renamed to it. A file that has such a name already is left
  // alone: it belongs to another program, or to another save to the same path. The file has the permissions of the one
  // at `path`, if the table can copy them, before anything is written to it. Throws IO.
  static File create_beside(const Io& io, const std::string& path);
  // For reading and writing, with its old content if it exists. Throws IO, also for a link.
  static File open_or_create(const Io& io, const std::string& path);
  // Opens a directory for sync_entries(). Throws IO.
  static File open_directory(const Io& io, const std::string& path);

  File(File&& other) noexcept;
  File& operator=(File&&) = delete;
  ~File();

  const std::string& path() const noexcept { return path_; }
  const Io& io() const noexcept { return io_; }
  // The size when the file was opened.
  uint64_t size() const noexcept { return size_; }

  // Reads exactly `size` bytes. Throws IO, FORMAT if the file ends before that.
  void read(uint64_t offset, void* buffer, size_t size) const;
  // Reads at most `size` bytes from the beginning.
  void read_up_to(void* buffer, size_t size) const;
  void write(uint64_t offset, const void* data, size_t size);
  void sync();
  // Makes a directory's entries durable. Some file systems cannot sync a directory and report EINVAL: that is no error,
  // as they have no more durability to offer.
  void sync_entries();
  // Throws the write errors that the system reports only now; the destructor ignores them.
  void close();
  // Returns false if another holds the lock.
  bool lock();
  // Called in a forked child, which must not keep its parent's file open: closes the child's descriptor, if the file
  // was opened by the system's own table.
  void forget() noexcept;

 private:
  File(const Io& io, const std::string& path, int32_t flags, const char* attempt, uint32_t mode = 0666);
  size_t read_some(uint64_t offset, void* buffer, size_t size) const;

  const Io& io_;
  std::string path_;
  int64_t file_;
  uint64_t size_ = 0;
};

void rename(const Io& io, const std::string& from, const std::string& to);
// Writes a new file beside `path`, and renames it to that once it is whole; if that fails, the old file stays. Refuses
// a device, FIFO, socket or directory before anything is written, also one that a link leads to: otherwise a program
// with all rights would turn /dev/null into a file. A caller's table cannot tell them apart. Throws IO and the errors
// of `write`.
void replace_file(const Io& io, const std::string& path, const std::function<void(File& file)>& write);
// Returns false if there is a directory of that name already.
bool make_directory(const Io& io, const std::string& path);
// Returns whether anything of that name can be opened for reading. Throws IO if that cannot be found out.
bool exists(const Io& io, const std::string& path);
// Returns whether a regular file, or a link to one, can be opened for reading under that name. Throws IO if that cannot
// be found out.
bool is_file(const Io& io, const std::string& path);
// Returns whether a directory has that name; a link to one does not count. Throws IO if that cannot be found out.
bool is_directory(const Io& io, const std::string& path);
// Removes a file or an empty directory, if there is one.
void remove(const Io& io, const std::string& path);
// Returns whether nothing of that name is left. Throws nothing.
bool remove_quietly(const Io& io, const std::string& path) noexcept;
void sync_directory(const Io& io, const std::string& path);
// The directory that contains a path: "a" for "a/b" and for "a/b/", "." for "b", "/" for "/".
std::string parent_of(const std::string& path);

// Repeats a call that a caller's table interrupts with EINTR; the system's own table repeats by itself.
template <class Call>
int64_t uninterrupted(Call&& call) {
  int64_t result = call();
  while (result == -EINTR) result = call();
  return result;
}

[[noreturn]] void fail_io(const char* attempt, const std::string& path, int64_t negative_errno);

}  // namespace halftone
