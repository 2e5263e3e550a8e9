#include "comm/file_store/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/io.h"

namespace halftone {
namespace {

constexpr const char* kLockName = "lock";
constexpr const char* kTemporaryName = "temporary";  // one suffices: its writer holds the lock
constexpr std::chrono::nanoseconds kLongestPause = std::chrono::milliseconds(20);
constexpr std::chrono::seconds kLongestLock{30};

// Throws if a call of the Io table failed. Returns its result.
int64_t checked(int64_t result, const char* action, const std::string& path) {
  if (result >= 0) return result;
  char buffer[128];
  const int error = static_cast<int>(-result);
  char message[Error::kMessageCapacity];
  std::snprintf(message, sizeof message, "cannot %s %.200s: %s", action, path.c_str(),
                strerror_r(error, buffer, sizeof buffer));
  throw Error(Code::kIo, error, "address", message);
}

// An open file, closed at the end of a block.
class OpenFile {
 public:
  OpenFile(const std::string& path, int32_t flags) : path_(path) {
    constexpr uint32_t kOwnerAlone = 0600;
    file_ = checked(io_.open(io_.user, path.c_str(), flags, kOwnerAlone), "open", path);
  }
  ~OpenFile() { io_.close(io_.user, file_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  std::string read() const {
    const auto size = static_cast<size_t>(checked(io_.size(io_.user, file_), "read", path_));
    if (size > Folder::kLargestFile) {
      fail(Code::kFormat, "address", "%.200s has %zu bytes, expected at most %zu: no value of a store is larger",
           path_.c_str(), size, Folder::kLargestFile);
    }
    std::string text(size, '\0');
    size_t length = 0;
    int64_t moved = 1;
    while (moved > 0 && length < text.size()) {
      moved = checked(io_.read(io_.user, file_, length, text.data() + length, text.size() - length), "read", path_);
      length += static_cast<size_t>(moved);
    }
    text.resize(length);
    return text;
  }
  void write(const void* data, size_t bytes) const {
    const char* begin = static_cast<const char*>(data);
    for (size_t length = 0; length < bytes;) {
      const int64_t moved = io_.write(io_.user, file_, length, begin + length, bytes - length);
      length += static_cast<size_t>(checked(moved != 0 ? moved : -ENOSPC, "write", path_));
    }
  }
  void require_own() const {
    struct stat status;
    checked(::fstat(static_cast<int>(file_), &status) == 0 ? 0 : -errno, "read", path_);
    if (status.st_uid != ::geteuid()) {
      fail(Code::kIo, "address", "the folder %.200s belongs to user %u, expected %u, who runs this process",
           path_.c_str(), status.st_uid, ::geteuid());
    }
    if ((status.st_mode & 022) != 0) {
      fail(Code::kIo, "address", "other users may write to the folder %.200s (mode %03o), expected its owner alone",
           path_.c_str(), status.st_mode & 0777);
    }
  }

 private:
  const Io& io_ = system_io();
  const std::string& path_;
  int64_t file_;
};

}  // namespace

Folder::Folder(std::string path) : path_(std::move(path)) {
  constexpr uint32_t kOwnerAlone = 0700;
  const Io& io = system_io();
  const int64_t result = io.make_directory(io.user, path_.c_str(), kOwnerAlone);
  if (result != -EEXIST) checked(result, "create the folder", path_);
  OpenFile(path_, O_RDONLY | O_DIRECTORY).require_own();  // opening fails if it is a file
}

std::optional<std::string> Folder::read(const std::string& name) const {
  const std::string path = path_of(name);
  while (true) {
    try {
      return OpenFile(path, O_RDONLY | O_NOFOLLOW).read();
    } catch (const Error& error) {
      if (error.native_code() == ENOENT) return std::nullopt;
      // NFS: another machine has replaced the file since it was opened.
      if (error.native_code() != ESTALE) throw;
    }
  }
}

void Folder::write(const std::string& name, const void* data, size_t bytes) const {
  const Io& io = system_io();
  const std::string temporary = path_of(kTemporaryName);
  const std::string path = path_of(name);
  OpenFile(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW).write(data, bytes);
  checked(io.rename(io.user, temporary.c_str(), path.c_str()), "rename a file to", path);
}

bool Folder::remove(const std::string& name) const {
  const Io& io = system_io();
  const std::string path = path_of(name);
  const int64_t result = io.remove(io.user, path.c_str());
  return result != -ENOENT && checked(result, "remove", path) >= 0;
}

FolderLock::FolderLock(const Folder& folder) {
  const Io& io = system_io();
  const std::string path = folder.path_of(kLockName);
  file_ = checked(io.open(io.user, path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW, 0600), "open", path);
  Pause pause(std::chrono::steady_clock::now() + kLongestLock);
  int64_t result = io.lock(io.user, file_);
  while (result == -EWOULDBLOCK && pause.wait()) result = io.lock(io.user, file_);
  if (result >= 0) return;
  io.close(io.user, file_);
  if (result == -EWOULDBLOCK) fail(Code::kTimeout, "address", "another process keeps the lock %.200s", path.c_str());
  checked(result, "lock", path);
}

FolderLock::~FolderLock() {
  const Io& io = system_io();
  io.close(io.user, file_);
}

bool Pause::wait() {
  const auto now = std::chrono::steady_clock::now();
  if (now >= deadline_) return false;
  std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(length_, deadline_ - now));
  length_ = std::min(length_ + length_ / 2, kLongestPause);
  return true;
}

}  // namespace halftone
