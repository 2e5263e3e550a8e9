// The lock that one writer has of a directory of checkpoints: a lock on a file in it. A directory can be moved away and
// another take its name, with a lock file of its own, so whoever writes by the directory's name makes sure of it first.
// A forked child does not inherit it. One thread at a time.
#pragma once

#include <optional>
#include <string>

#include "checkpoint/file.h"
#include "core/clock.h"

namespace halftone::checkpoint {

class DirectoryLock {
 public:
  // Throws IO, STATE where another has the lock.
  DirectoryLock(const Io& io, const Clock& clock, const std::string& directory);

  // Makes sure that the directory of this name is the one that is locked, or locks it. Answers whether it was locked
  // anew: it may be another one. Throws IO, STATE where another has the lock.
  bool ensure();
  // In a forked child.
  void forget() noexcept;

 private:
  void take();
  bool is_in_place() const;
  void sign() noexcept;

  const Io& io_;
  const Clock& clock_;
  std::string directory_;
  std::string path_;
  std::optional<File> file_;
};

}  // namespace halftone::checkpoint
