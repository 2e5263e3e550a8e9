// The one table through which the library touches files. Plain C function pointers, so that the host's table of the C
// API (htone_io) and a fault-injecting table of a test look alike. Every call answers >= 0 or -errno; none blocks on a
// FIFO, and a short read or write is legal: the callers loop.
#pragma once

#include <cstddef>
#include <cstdint>

namespace halftone {

struct Io {
  void* user;
  // flags: O_* of <fcntl.h>; answers a descriptor.
  int64_t (*open)(void* user, const char* path, int32_t flags, uint32_t mode);
  int64_t (*close)(void* user, int64_t file);
  // Answers the bytes moved; 0 is the end of the file.
  int64_t (*read)(void* user, int64_t file, uint64_t offset, void* buffer, size_t size);
  int64_t (*write)(void* user, int64_t file, uint64_t offset, const void* buffer, size_t size);
  // Answers the size of a regular file; -EINVAL for anything that is not one.
  int64_t (*size)(void* user, int64_t file);
  int64_t (*sync)(void* user, int64_t file);
  int64_t (*rename)(void* user, const char* from, const char* to);
  int64_t (*remove)(void* user, const char* path);
  int64_t (*make_directory)(void* user, const char* path, uint32_t mode);
  // Calls take(taker, name) for everything in a directory but "." and "..", in any order, until it answers below 0;
  // answers 0 or what it answered.
  int64_t (*list)(void* user, const char* path, int64_t (*take)(void* taker, const char* name), void* taker);
  // Takes an exclusive lock that ends with close or with the process; -EWOULDBLOCK where another holds it.
  int64_t (*lock)(void* user, int64_t file);
};

// The table over the operating system's calls; EINTR is retried inside.
const Io& system_io() noexcept;

// Reads at most `capacity - 1` bytes of a small text file and ends them with a zero; answers the length or -errno.
// Unlike `size`, works on the files of /proc and /sys, whose size is unknown.
int64_t read_text(const Io& io, const char* path, char* buffer, size_t capacity) noexcept;

}  // namespace halftone
