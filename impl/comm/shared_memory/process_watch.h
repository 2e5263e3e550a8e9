// Tells if another process of this machine still runs. The system keeps its number apart from later processes'.
#pragma once

#include <sys/types.h>

#include "comm/shared_memory/descriptor.h"

namespace halftone {

class ProcessWatch {
 public:
  ProcessWatch() = default;
  // A process that is gone already is dead. Throws UNSUPPORTED where the system has no such call (Linux before 5.3).
  explicit ProcessWatch(pid_t process);

  // False as soon as the process has ended, even if its parent has not asked for the result yet.
  bool is_alive() const noexcept;

 private:
  Descriptor file_;
};

}  // namespace halftone
