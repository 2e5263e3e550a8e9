// What reading a file takes: measured in a process of its own, so that its peak is nobody else's.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace halftone::checkpoint {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;  // takes time and memory of its own
#else
constexpr bool kIsSanitized = false;
#endif

// What `work` in a child used; it answers 0 where all is well.
template <class Work>
rusage used_by(const Work& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = -1;
  rusage used = {};
  EXPECT_EQ(wait4(child, &status, 0, &used), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  return used;
}

inline double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

inline double seconds(const rusage& used) { return seconds(used.ru_utime) + seconds(used.ru_stime); }

inline double peak_bytes(const rusage& used) { return static_cast<double>(used.ru_maxrss) * 1024; }

}  // namespace halftone::checkpoint
