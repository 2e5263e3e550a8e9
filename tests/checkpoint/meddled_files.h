// The system's files while other programs work on them: writes and removals fail as if the disk were gone, and an
// action runs right before a file is created or renamed. One thread at a time.
#pragma once

#include <fcntl.h>

#include <cerrno>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "core/io.h"

namespace halftone {

class MeddledFiles {
 public:
  MeddledFiles() = default;
  MeddledFiles(const MeddledFiles&) = delete;
  MeddledFiles& operator=(const MeddledFiles&) = delete;

  const Io& io() const noexcept { return io_; }
  void refuse(bool writes, bool removals) {
    refuses_writes_ = writes;
    refuses_removals_ = removals;
  }
  // After this call, opening a lock file fails with this errno.
  void refuse_locks(int error) { lock_error_ = error; }
  // Each action runs once, with the path that is created or renamed.
  void before_create(std::function<void(const std::string&)> change) { before_create_ = std::move(change); }
  void after_create(std::function<void(const std::string&)> look) { after_create_ = std::move(look); }
  void before_rename(std::function<void(const std::string&)> change) { before_rename_ = std::move(change); }

 private:
  using Change = std::function<void(const std::string&)>;

  static MeddledFiles& self(void* user) { return *static_cast<MeddledFiles*>(user); }
  static void happen(Change& change, const char* path) {
    if (const Change once = std::exchange(change, {})) once(path);
  }

  Io table() {
    Io io = system_io();
    io.user = this;
    io.open = [](void* user, const char* path, int32_t flags, uint32_t mode) -> int64_t {
      const bool creates = (flags & O_CREAT) != 0;
      if (self(user).lock_error_ != 0 && std::string(path).ends_with("/.lock")) return -self(user).lock_error_;
      if (creates) happen(self(user).before_create_, path);
      const int64_t file = system_io().open(nullptr, path, flags, mode);
      if (creates && file >= 0) happen(self(user).after_create_, path);
      return file;
    };
    io.write = [](void* user, int64_t file, uint64_t offset, const void* buffer, size_t size) -> int64_t {
      return self(user).refuses_writes_ ? -EIO : system_io().write(nullptr, file, offset, buffer, size);
    };
    io.rename = [](void* user, const char* from, const char* to) -> int64_t {
      happen(self(user).before_rename_, from);
      return system_io().rename(nullptr, from, to);
    };
    io.remove = [](void* user, const char* path) -> int64_t {
      return self(user).refuses_removals_ ? -EIO : system_io().remove(nullptr, path);
    };
    return io;
  }

  Io io_ = table();
  bool refuses_writes_ = false;
  bool refuses_removals_ = false;
  int lock_error_ = 0;
  Change before_create_;
  Change after_create_;
  Change before_rename_;
};

}  // namespace halftone
