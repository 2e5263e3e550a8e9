// Time since construction, for benchmarks: wall time, or the CPU time of the calling thread, which excludes the time
// that other programs take from the machine.
#pragma once

#include <time.h>

namespace halftone {

enum class TimeOf { kWall, kThread };

class Stopwatch {
 public:
  explicit Stopwatch(TimeOf time_of)
      : clock_(time_of == TimeOf::kWall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID), begin_(now()) {}
  double seconds() const { return now() - begin_; }

 private:
  double now() const {
    timespec time;
    clock_gettime(clock_, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  clockid_t clock_;
  double begin_;
};

}  // namespace halftone
