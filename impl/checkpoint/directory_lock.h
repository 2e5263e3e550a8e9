// The lock of the one process that writes into a directory of checkpoints: a lock on a file in the directory. The
// directory can be moved away and another one get its name, with a lock file of its own, so ensure() is called before
// each save. A forked child does not inherit the lock. One thread at a time.
#pragma once

#include <optional>
#include <string>

#include "core/clock.h"
#include "core/file.h"

namespace halftone::checkpoint {

class DirectoryLock {
 public:
  // Takes no lock yet.
  DirectoryLock(const Io& io, const Clock& clock, const std::string& directory);

  // Takes the lock, unless this object has that of the directory which has the name now. Returns whether it was taken:
  // then the directory may be another one than before. Throws IO, STATE if another has the lock.
  bool ensure();
  // Called in a forked child: gives up the lock there.
  void forget() noexcept;

 private:
  void take();
  bool is_in_place() const;
  void sign() noexcept;

  const Io& io_;
  const Clock& clock_;
  std::string directory_;
  std::string path_;
  std::optional<File> file_;  // empty until the lock is taken
};

}  // namespace halftone::checkpoint
