// The one table through which the library touches files. Its functions are those of the C API's htone_io, so that the
// caller's table, the system's and a fault-injecting table of a test look alike. Every call returns a value >= 0 or
// -errno. No call blocks on a FIFO. A short read or write is legal: the callers loop.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/foreign_function.h"

namespace halftone {

struct Io {
  void* user;
  // flags: O_* of <fcntl.h>. Returns a descriptor.
  ForeignFunction<int64_t(void* user, const char* path, int32_t flags, uint32_t mode)> open;
  ForeignFunction<int64_t(void* user, int64_t file)> close;
  // Returns the number of bytes moved; 0 at the end of the file.
  ForeignFunction<int64_t(void* user, int64_t file, uint64_t offset, void* buffer, size_t size)> read;
  ForeignFunction<int64_t(void* user, int64_t file, uint64_t offset, const void* buffer, size_t size)> write;
  // Returns the size of a regular file; -EINVAL for a file of any other type.
  ForeignFunction<int64_t(void* user, int64_t file)> size;
  ForeignFunction<int64_t(void* user, int64_t file)> sync;
  ForeignFunction<int64_t(void* user, const char* from, const char* to)> rename;
  ForeignFunction<int64_t(void* user, const char* path)> remove;
  ForeignFunction<int64_t(void* user, const char* path, uint32_t mode)> make_directory;
  // Calls take(taker, name) for everything in a directory but "." and "..", in any order, until `take` returns a value
  // below 0. Returns that value, or 0.
  ForeignFunction<int64_t(void* user, const char* path, int64_t (*take)(void* taker, const char* name), void* taker)>
      list;
  // Takes an exclusive lock that ends with close or with the process; -EWOULDBLOCK if another holds it.
  ForeignFunction<int64_t(void* user, int64_t file)> lock;
  // Null in a caller's table, which has no such call. Gives `file` the permissions of the regular file at `path`, so
  // that it can take its place. The group is kept with them where the system allows it, and loses the rights that
  // others do not have where it does not. Returns -ENOENT if there is no file.
  ForeignFunction<int64_t(void* user, const char* path, int64_t file)> copy_permissions = {};
};

// The table over the operating system's calls; it repeats calls that a signal interrupted.
const Io& system_io() noexcept;

// Reads at most `capacity - 1` bytes of a small text file and ends them with a zero byte. Returns the length or -errno.
// Works on the files of /proc and /sys too, whose `size` is 0.
int64_t read_text(const Io& io, const char* path, char* buffer, size_t capacity) noexcept;

}  // namespace halftone
