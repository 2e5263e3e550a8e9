// Tells for a process of a run if it has ended, on this machine: processes of other machines and containers have other
// places. Safe from any thread.
#pragma once

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>

namespace halftone {

// The run of the system, and the processes in it that see each other's numbers. A word of 1 to 63 characters.
inline std::string process_place() {
  std::string run;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> run;
  struct stat status = {};
  stat("/proc/self/ns/pid", &status);
  return (run + "/" + std::to_string(status.st_ino)).substr(0, 63);
}

// The entry of a store that a process serves: the place and the number of the process.
inline constexpr char kServerProcess[] = "store/process";

// False also where the system does not tell. REQUIRES: the process was at this process's place
inline bool has_ended(pid_t process) noexcept {
  const int file = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (file < 0) return errno == ESRCH;
  pollfd watched = {.fd = file, .events = POLLIN, .revents = 0};
  const bool result = poll(&watched, 1, 0) > 0;
  close(file);
  return result;
}

}  // namespace halftone
