#include "core/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace halftone {

namespace {

// The largest errno of Linux. A caller's table may return values that are no errno.
constexpr int64_t kLargestErrno = 4095;

// How many names create_beside() tries.
constexpr int kMostNames = 10'000;

// The system's text for an error number. GNU's strerror_r returns the text, which need not be in the buffer.
std::string error_text(int number) {
  char buffer[128];
  return strerror_r(number, buffer, sizeof buffer);
}

// Returns whether something has that name, also if it may not be read: O_PATH needs no permission for the file itself.
bool is_in_use(const Io& io, const std::string& path) {
  const int64_t file = uninterrupted([&] { return io.open(io.user, path.c_str(), O_PATH, 0); });
  if (file >= 0) io.close(io.user, file);
  return file != -ENOENT;
}

// O_PATH needs no permission, and does nothing to a device. Only the system's table copies permissions.
void require_replaceable(const Io& io, const std::string& path) {
  if (!io.copy_permissions) return;
  const int64_t file = uninterrupted([&] { return io.open(io.user, path.c_str(), O_PATH, 0); });
  if (file < 0) return;
  const int64_t size = uninterrupted([&] { return io.size(io.user, file); });
  io.close(io.user, file);
  if (size == -EINVAL) fail(Code::kIo, "", "cannot replace %s: it is no regular file", path.c_str());
}

}  // namespace

void fail_io(const char* attempt, const std::string& path, int64_t negative_errno) {
  const int number = negative_errno < -kLargestErrno ? EIO : static_cast<int>(-negative_errno);
  char message[Error::kMessageCapacity];
  std::snprintf(message, sizeof message, "cannot %s %s: %s", attempt, path.c_str(), error_text(number).c_str());
  throw Error(Code::kIo, number, "", message);
}

File::File(const Io& io, const std::string& path, int32_t flags, const char* attempt, uint32_t mode)
    : io_(io), path_(path) {
  file_ = uninterrupted([&] { return io.open(io.user, path.c_str(), flags, mode); });
  if (file_ < 0) fail_io(attempt, path, file_);
}

File File::open(const Io& io, const std::string& path) {
  File file(io, path, O_RDONLY, "open");
  const int64_t size = uninterrupted([&] { return io.size(io.user, file.file_); });
  if (size == -EINVAL) fail(Code::kIo, "", "cannot read %s: it is no regular file", path.c_str());
  if (size < 0) fail_io("ask for the size of", path, size);
  file.size_ = static_cast<uint64_t>(size);
  return file;
}

File File::create(const Io& io, const std::string& path) {
  return File(io, path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, "create");
}

// O_EXCL follows no link either. The names are unique in this process, but a killed process of the same number may have
// left one. The number of attempts is limited: a caller's table may report EEXIST for ever.
File File::create_beside(const Io& io, const std::string& path) {
  static constinit std::atomic<uint64_t> counter{0};
  constexpr int32_t kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW;
  const std::string lead = path + ".tmp-" + std::to_string(getpid()) + "-";
  const bool replaces = io.copy_permissions && is_in_use(io, path);
  for (int attempt = 1;; ++attempt) {
    try {
      File file(io, lead + std::to_string(counter.fetch_add(1)), kFlags, "create", replaces ? 0600 : 0666);
      // If this fails, as on a file system without permissions, the file stays the owner's alone.
      if (replaces) io.copy_permissions(io.user, path.c_str(), file.file_);
      return file;
    } catch (const Error& error) {
      if (error.native_code() != EEXIST || attempt == kMostNames) throw;
    }
  }
}

File File::open_or_create(const Io& io, const std::string& path) {
  return File(io, path, O_RDWR | O_CREAT | O_NOFOLLOW, "create");
}

File File::open_directory(const Io& io, const std::string& path) {
  return File(io, path, O_RDONLY | O_DIRECTORY, "open the directory");
}

File::File(File&& other) noexcept
    : io_(other.io_), path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)), size_(other.size_) {}

File::~File() {
  if (file_ >= 0) io_.close(io_.user, file_);
}

// Returns 0 at the end. A caller's table may report more bytes than it was asked for: they would pass the end of the
// buffer.
size_t File::read_some(uint64_t offset, void* buffer, size_t size) const {
  const int64_t moved = uninterrupted([&] { return io_.read(io_.user, file_, offset, buffer, size); });
  if (moved < 0) fail_io("read", path_, moved);
  if (static_cast<uint64_t>(moved) > size) fail_io("read", path_, -EOVERFLOW);
  return static_cast<size_t>(moved);
}

void File::read(uint64_t offset, void* buffer, size_t size) const {
  auto* bytes = static_cast<char*>(buffer);
  while (size > 0) {
    const size_t moved = read_some(offset, bytes, size);
    if (moved == 0)
      fail(Code::kFormat, "", "%s ended while it was read, at byte %llu", path_.c_str(),
           static_cast<unsigned long long>(offset));
    bytes += moved;
    offset += moved;
    size -= moved;
  }
}

void File::read_up_to(void* buffer, size_t size) const {
  auto* bytes = static_cast<char*>(buffer);
  size_t offset = 0, moved = 1;
  while (offset < size && moved > 0) {
    moved = read_some(offset, bytes + offset, size - offset);
    offset += moved;
  }
}

void File::write(uint64_t offset, const void* data, size_t size) {
  const auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const int64_t moved = uninterrupted([&] { return io_.write(io_.user, file_, offset, bytes, size); });
    if (moved <= 0) fail_io("write", path_, moved == 0 ? -ENOSPC : moved);
    if (static_cast<uint64_t>(moved) > size) fail_io("write", path_, -EOVERFLOW);
    bytes += moved;
    offset += static_cast<uint64_t>(moved);
    size -= static_cast<size_t>(moved);
  }
}

// Never repeated: after a failed fsync the system may drop the unwritten pages and report success the next time.
void File::sync() {
  const int64_t result = uninterrupted([&] { return io_.sync(io_.user, file_); });
  if (result < 0) fail_io("sync", path_, result);
}

void File::sync_entries() {
  const int64_t result = uninterrupted([&] { return io_.sync(io_.user, file_); });
  if (result < 0 && result != -EINVAL) fail_io("sync", path_, result);
}

// Never repeated: the descriptor is closed even if the call reports EINTR.
void File::close() {
  const int64_t result = io_.close(io_.user, std::exchange(file_, -1));
  if (result < 0 && result != -EINTR) fail_io("close", path_, result);
}

bool File::lock() {
  const int64_t result = uninterrupted([&] { return io_.lock(io_.user, file_); });
  if (result == -EWOULDBLOCK) return false;
  if (result < 0) fail_io("lock", path_, result);
  return true;
}

// A caller's table may lock a mutex that another thread held during the fork, so its close must not be called here.
void File::forget() noexcept {
  if (file_ >= 0 && io_.close == system_io().close) io_.close(io_.user, file_);
  file_ = -1;
}

void rename(const Io& io, const std::string& from, const std::string& to) {
  const int64_t result = uninterrupted([&] { return io.rename(io.user, from.c_str(), to.c_str()); });
  if (result < 0) fail_io("rename to", to, result);
}

void replace_file(const Io& io, const std::string& path, const std::function<void(File& file)>& write) {
  require_replaceable(io, path);
  File file = File::create_beside(io, path);
  try {
    write(file);
    file.close();
    rename(io, file.path(), path);
  } catch (...) {
    remove_quietly(io, file.path());
    throw;
  }
}

bool make_directory(const Io& io, const std::string& path) {
  const int64_t result = uninterrupted([&] { return io.make_directory(io.user, path.c_str(), 0777); });
  if (result == -EEXIST) return false;
  if (result < 0) fail_io("make the directory", path, result);
  return true;
}

bool exists(const Io& io, const std::string& path) {
  const int64_t file = uninterrupted([&] { return io.open(io.user, path.c_str(), O_RDONLY, 0); });
  if (file == -ENOENT || file == -ENOTDIR) return false;
  if (file < 0) fail_io("open", path, file);
  io.close(io.user, file);
  return true;
}

// ELOOP: a link to itself. ENXIO: a socket, which cannot be opened.
bool is_file(const Io& io, const std::string& path) {
  const int64_t file = uninterrupted([&] { return io.open(io.user, path.c_str(), O_RDONLY, 0); });
  if (file == -ENOENT || file == -ENOTDIR || file == -ELOOP || file == -ENXIO) return false;
  if (file < 0) fail_io("open", path, file);
  const int64_t size = uninterrupted([&] { return io.size(io.user, file); });
  io.close(io.user, file);
  if (size < 0 && size != -EINVAL) fail_io("ask for the size of", path, size);
  return size >= 0;
}

bool is_directory(const Io& io, const std::string& path) {
  constexpr int32_t kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  const int64_t file = uninterrupted([&] { return io.open(io.user, path.c_str(), kFlags, 0); });
  if (file == -ENOENT || file == -ENOTDIR || file == -ELOOP) return false;
  if (file < 0) fail_io("open the directory", path, file);
  io.close(io.user, file);
  return true;
}

void remove(const Io& io, const std::string& path) {
  const int64_t result = uninterrupted([&] { return io.remove(io.user, path.c_str()); });
  if (result < 0 && result != -ENOENT) fail_io("remove", path, result);
}

bool remove_quietly(const Io& io, const std::string& path) noexcept {
  const int64_t result = uninterrupted([&] { return io.remove(io.user, path.c_str()); });
  return result >= 0 || result == -ENOENT || result == -ENOTDIR;
}

void sync_directory(const Io& io, const std::string& path) {
  File directory = File::open_directory(io, path);
  directory.sync_entries();
  directory.close();
}

std::string parent_of(const std::string& path) {
  const size_t last = path.find_last_not_of('/');
  if (last == std::string::npos) return path.empty() ? "." : "/";
  const size_t slash = path.rfind('/', last);
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace halftone
