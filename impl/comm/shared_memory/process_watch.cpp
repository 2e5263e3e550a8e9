#include "comm/shared_memory/process_watch.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "core/error.h"

namespace halftone {

ProcessWatch::ProcessWatch(pid_t process) : file_(static_cast<int>(syscall(SYS_pidfd_open, process, 0))) {
  if (file_ || errno == ESRCH) return;
  const int error = errno;
  Status status = Status::failure(error == EMFILE || error == ENFILE ? Code::kIo : Code::kUnsupported,
                                  "cannot watch process %d: error %d", static_cast<int>(process), error);
  status.native_code = error;
  check(status);
}

bool ProcessWatch::is_alive() const noexcept {
  if (!file_) return false;
  pollfd watched = {.fd = file_.get(), .events = POLLIN, .revents = 0};
  return poll(&watched, 1, 0) <= 0;
}

}  // namespace halftone
