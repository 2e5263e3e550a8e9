#include "core/io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace halftone {
namespace {

// Repeats a system call that a signal interrupted; answers its result or -errno.
template <class Call>
int64_t retried(Call call) {
  while (true) {
    const int64_t result = call();
    if (result >= 0) return result;
    if (errno != EINTR) return -errno;
  }
}

// Where the host has closed 0, 1 or 2, the next file opened gets that number, and what the host prints would land in
// it.
int64_t above_standard_streams(int64_t file) {
  if (file < 0 || file > STDERR_FILENO) return file;
  const int64_t moved = retried([&] { return ::fcntl(static_cast<int>(file), F_DUPFD_CLOEXEC, STDERR_FILENO + 1); });
  ::close(static_cast<int>(file));
  return moved;
}

// Opening a FIFO for reading would wait for its writer. Regular files do not know the flag.
int64_t system_open(void*, const char* path, int32_t flags, uint32_t mode) {
  const int nonblocking = (flags & O_ACCMODE) == O_RDONLY ? O_NONBLOCK : 0;
  return above_standard_streams(
      retried([&] { return ::open(path, flags | nonblocking | O_CLOEXEC, static_cast<mode_t>(mode)); }));
}

// Not repeated: after EINTR Linux has closed the descriptor, and another thread may own its number already.
int64_t system_close(void*, int64_t file) {
  return ::close(static_cast<int>(file)) == 0 || errno == EINTR ? 0 : -errno;
}

// Offsets beyond off_t would turn negative.
int64_t system_read(void*, int64_t file, uint64_t offset, void* buffer, size_t size) {
  if (offset > INT64_MAX) return -EINVAL;
  return retried([&] { return ::pread(static_cast<int>(file), buffer, size, static_cast<off_t>(offset)); });
}

int64_t system_write(void*, int64_t file, uint64_t offset, const void* buffer, size_t size) {
  if (offset > INT64_MAX) return -EINVAL;
  return retried([&] { return ::pwrite(static_cast<int>(file), buffer, size, static_cast<off_t>(offset)); });
}

int64_t system_size(void*, int64_t file) {
  struct stat status;
  const int64_t result = retried([&] { return ::fstat(static_cast<int>(file), &status); });
  if (result < 0) return result;
  return S_ISREG(status.st_mode) ? int64_t{status.st_size} : -EINVAL;
}

int64_t system_sync(void*, int64_t file) {
  return retried([&] { return ::fsync(static_cast<int>(file)); });
}

int64_t system_rename(void*, const char* from, const char* to) {
  return retried([&] { return ::rename(from, to); });
}

int64_t system_remove(void*, const char* path) {
  return retried([&] { return ::remove(path); });
}

int64_t system_make_directory(void*, const char* path, uint32_t mode) {
  return retried([&] { return ::mkdir(path, static_cast<mode_t>(mode)); });
}

constexpr Io kSystemIo = {
    .user = nullptr,
    .open = system_open,
    .close = system_close,
    .read = system_read,
    .write = system_write,
    .size = system_size,
    .sync = system_sync,
    .rename = system_rename,
    .remove = system_remove,
    .make_directory = system_make_directory,
};

}  // namespace

const Io& system_io() noexcept { return kSystemIo; }

int64_t read_text(const Io& io, const char* path, char* buffer, size_t capacity) noexcept {
  if (capacity == 0) return -EINVAL;
  buffer[0] = '\0';
  const int64_t file = io.open(io.user, path, O_RDONLY, 0);
  if (file < 0) return file;
  size_t length = 0;
  int64_t moved = 1;
  while (moved > 0 && length < capacity - 1) {
    moved = io.read(io.user, file, length, buffer + length, capacity - 1 - length);
    if (moved > 0) length += static_cast<size_t>(moved);
  }
  io.close(io.user, file);
  buffer[length] = '\0';
  return moved < 0 ? moved : static_cast<int64_t>(length);
}

}  // namespace halftone
