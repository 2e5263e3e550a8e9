#include "checkpoint/directory_lock.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "checkpoint/checksum.h"
#include "core/error.h"

namespace halftone::checkpoint {

namespace {

// The text that the owner of the lock writes into the file. No two owners write the same.
struct LockText {
  char bytes[32] = {};
  bool operator==(const LockText& other) const noexcept { return std::memcmp(bytes, other.bytes, sizeof bytes) == 0; }
};

}  // namespace

DirectoryLock::DirectoryLock(const Io& io, const Clock& clock, const std::string& directory)
    : io_(io), clock_(clock), directory_(directory), path_(directory + "/.lock") {}

// The file must not be truncated: another process may have the lock.
void DirectoryLock::take() {
  File file = File::open_or_create(io_, path_);
  if (!file.lock()) {
    fail(Code::kState, "directory", "another checkpoint object writes into %s", directory_.c_str());
  }
  file_.reset();
  file_.emplace(std::move(file));
  sign();
}

// Errors are ignored: the text only tells lock files apart, and a directory on a full disk can still be read.
void DirectoryLock::sign() noexcept {
  try {
    const int64_t parts[] = {clock_.wall_ns(clock_.user), clock_.monotonic_ns(clock_.user), getpid(),
                             static_cast<int64_t>(reinterpret_cast<uintptr_t>(this))};
    const std::string text = checksum_of_text(reinterpret_cast<const char*>(parts), sizeof parts);
    file_->write(0, text.data(), text.size());
    file_->sync();
  } catch (...) {
  }
}

// The lock file of this name is the one that is locked if it has the text that this object wrote.
bool DirectoryLock::is_in_place() const {
  if (!file_) return false;
  LockText own, found;
  file_->read_up_to(own.bytes, sizeof own.bytes);
  if (!exists(io_, path_)) return false;
  File::open(io_, path_).read_up_to(found.bytes, sizeof found.bytes);
  return own == found;
}

bool DirectoryLock::ensure() {
  if (is_in_place()) return false;
  take();
  return true;
}

void DirectoryLock::forget() noexcept {
  if (file_) file_->forget();
}

}  // namespace halftone::checkpoint
