// The one table through which the library touches files. Its functions are those of the C API's htone_io, so that the
// caller's table, the system's and a fault-injecting table of a test look alike. Every call returns >= 0 or -errno;
// none blocks on a FIFO, and a short read or write is legal: the callers loop.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/foreign_function.h"

namespace halftone {

struct Io {
  void* user;
  // flags: O_* of <fcntl.h>; answers a descriptor.
  ForeignFunction<int64_t(void* user, const char* path, int32_t flags, uint32_t mode)> open;
  ForeignFunction<int64_t(void* user, int64_t file)> close;
  // Answers the bytes moved; 0 is the end of the file.
  ForeignFunction<int64_t(void* user, int64_t file, uint64_t offset, void* buffer, size_t size)> read;
  ForeignFunction<int64_t(void* user, int64_t file, uint64_t offset, const void* buffer, size_t size)> write;
  // Answers the size of a regular file; -EINVAL for anything that is not one.
  ForeignFunction<int64_t(void* user, int64_t file)> size;
  ForeignFunction<int64_t(void* user, int64_t file)> sync;
  ForeignFunction<int64_t(void* user, const char* from, const char* to)> rename;
  ForeignFunction<int64_t(void* user, const char* path)> remove;
  ForeignFunction<int64_t(void* user, const char* path, uint32_t mode)> make_directory;
  // Calls take(taker, name) for everything in a directory but "." and "..", in any order, until it answers below 0;
  // answers 0 or what it answered.
  ForeignFunction<int64_t(void* user, const char* path, int64_t (*take)(void* taker, const char* name), void* taker)>
      list;
  // Takes an exclusive lock that ends with close or with the process; -EWOULDBLOCK where another holds it.
  ForeignFunction<int64_t(void* user, int64_t file)> lock;
};

// The table over the operating system's calls; EINTR is retried inside.
const Io& system_io() noexcept;

// Reads at most `capacity - 1` bytes of a small text file and ends them with a zero; answers the length or -errno.
// Unlike `size`, works on the files of /proc and /sys, whose size is unknown.
int64_t read_text(const Io& io, const char* path, char* buffer, size_t capacity) noexcept;

}  // namespace halftone
