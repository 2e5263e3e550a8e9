// Remembers the process that created an object. An object with a thread, or with memory that processes share, is of no
// use in a child that fork() made: the thread does not exist there, and its locks may be taken for ever.
#pragma once

#include <unistd.h>

namespace halftone {

class OwnerProcess {
 public:
  bool is_here() const noexcept { return getpid() == id_; }
  int id() const noexcept { return static_cast<int>(id_); }

 private:
  const pid_t id_ = getpid();
};

}  // namespace halftone
