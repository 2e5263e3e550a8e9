#include "core/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace halftone {
namespace {

// Repeats a system call that a signal interrupted. Returns its result or -errno.
template <class Call>
int64_t retried(Call call) {
  while (true) {
    const int64_t result = call();
    if (result >= 0) return result;
    if (errno != EINTR) return -errno;
  }
}

// If the program has closed descriptor 0, 1 or 2, open() would return one of them, and what the program prints later
// would corrupt the file. This object occupies them with O_PATH descriptors, which cannot be written to, while a file
// is opened.
class StandardStreams {
 public:
  StandardStreams() {
    while (count_ <= STDERR_FILENO) {
      const int file = ::open("/", O_PATH | O_CLOEXEC);
      if (file >= 0 && file <= STDERR_FILENO) {
        held_[count_++] = file;
        continue;
      }
      if (file >= 0) ::close(file);
      break;
    }
  }
  StandardStreams(const StandardStreams&) = delete;
  StandardStreams& operator=(const StandardStreams&) = delete;
  ~StandardStreams() {
    while (count_ > 0) ::close(held_[--count_]);
  }

 private:
  int held_[STDERR_FILENO + 1];
  int count_ = 0;
};

// Without O_NONBLOCK, opening a FIFO for reading would wait for its writer. Regular files ignore the flag.
int64_t system_open(void*, const char* path, int32_t flags, uint32_t mode) {
  const StandardStreams held;
  const int nonblocking = (flags & O_ACCMODE) == O_RDONLY ? O_NONBLOCK : 0;
  return retried([&] { return ::open(path, flags | nonblocking | O_CLOEXEC, static_cast<mode_t>(mode)); });
}

// Not repeated: when Linux reports EINTR the descriptor is closed already, and another thread may own its number.
int64_t system_close(void*, int64_t file) {
  return ::close(static_cast<int>(file)) == 0 || errno == EINTR ? 0 : -errno;
}

// An offset beyond off_t would become negative.
int64_t system_read(void*, int64_t file, uint64_t offset, void* buffer, size_t size) {
  if (offset > INT64_MAX) return -EINVAL;
  return retried([&] { return ::pread(static_cast<int>(file), buffer, size, static_cast<off_t>(offset)); });
}

// A write beyond RLIMIT_FSIZE raises SIGXFSZ in its thread, which would end the program. This guard blocks the signal
// and discards it, since the write reports EFBIG as well. If the signal was pending before, it belongs to the program,
// and nothing is discarded.
class FileSizeSignalGuard {
 public:
  FileSizeSignalGuard() noexcept {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGXFSZ);
    sigset_t pending;
    sigpending(&pending);
    is_mine_ = sigismember(&pending, SIGXFSZ) == 0 && pthread_sigmask(SIG_BLOCK, &signals_, &saved_) == 0;
  }
  ~FileSizeSignalGuard() {
    if (!is_mine_) return;
    const int error = errno;
    constexpr timespec kNow = {};
    while (sigtimedwait(&signals_, nullptr, &kNow) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &saved_, nullptr);
    errno = error;
  }
  FileSizeSignalGuard(const FileSizeSignalGuard&) = delete;
  FileSizeSignalGuard& operator=(const FileSizeSignalGuard&) = delete;

 private:
  sigset_t signals_;
  sigset_t saved_;
  bool is_mine_;
};

int64_t system_write(void*, int64_t file, uint64_t offset, const void* buffer, size_t size) {
  if (offset > INT64_MAX) return -EINVAL;
  const FileSizeSignalGuard guard;
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

// readdir returns null both at the end and after a failure; only errno distinguishes them.
int64_t system_list(void*, const char* path, int64_t (*take)(void* taker, const char* name), void* taker) {
  DIR* directory = ::opendir(path);
  if (directory == nullptr) return -errno;
  int64_t result = 0;
  errno = 0;
  while (const dirent* entry = ::readdir(directory)) {
    const bool is_link_to_itself = std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0;
    if (!is_link_to_itself) result = take(taker, entry->d_name);
    if (result < 0) break;
    errno = 0;
  }
  if (result == 0 && errno != 0) result = -errno;
  ::closedir(directory);
  return result;
}

// flock, not fcntl: a lock of flock belongs to the open file, so that two writers in one process exclude each other
// too.
int64_t system_lock(void*, int64_t file) {
  return retried([&] { return ::flock(static_cast<int>(file), LOCK_EX | LOCK_NB); });
}

// Copies the permission bits and no others. If this process may not give the file to the old group, the group's rights
// would go to the process's own group: then the group keeps those rights only that everybody has.
int64_t system_copy_permissions(void*, const char* path, int64_t file) {
  struct stat old, now;
  const int descriptor = static_cast<int>(file);
  if (const int64_t result = retried([&] { return ::stat(path, &old); }); result < 0) return result;
  if (!S_ISREG(old.st_mode)) return -EINVAL;
  if (const int64_t result = retried([&] { return ::fstat(descriptor, &now); }); result < 0) return result;
  mode_t mode = old.st_mode & 0777;
  const bool keeps_group = old.st_gid == now.st_gid || ::fchown(descriptor, static_cast<uid_t>(-1), old.st_gid) == 0;
  if (!keeps_group) mode &= ~(S_IRWXG & ~((old.st_mode & S_IRWXO) << 3));
  return retried([&] { return ::fchmod(descriptor, mode); });
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
    .list = system_list,
    .lock = system_lock,
    .copy_permissions = system_copy_permissions,
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
    const size_t room = capacity - 1 - length;
    moved = io.read(io.user, file, length, buffer + length, room);
    // A caller's table may report more bytes than it was asked for: the length would pass the end of the buffer.
    if (moved > 0 && static_cast<uint64_t>(moved) > room) moved = -EOVERFLOW;
    if (moved > 0) length += static_cast<size_t>(moved);
  }
  io.close(io.user, file);
  buffer[length] = '\0';
  return moved < 0 ? moved : static_cast<int64_t>(length);
}

}  // namespace halftone
