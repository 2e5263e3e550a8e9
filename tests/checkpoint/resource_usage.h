// Measures the resources for reading a file, in a separate process, so that its memory peak is measured alone.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sanitizers.h"

namespace halftone::checkpoint {

// Resource usage of `work` in a child. `work` returns 0 on success.
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
