// Time since construction, for benchmarks: wall time, or the CPU time of the calling thread or of all threads of the
// process, which excludes the time that other programs take from the machine.
#pragma once

#include <time.h>

namespace halftone {

enum class TimeOf { kWall, kThread, kProcess };

class Stopwatch {
 public:
  explicit Stopwatch(TimeOf time_of) : clock_(clock_of(time_of)), begin_(now()) {}
  double seconds() const { return now() - begin_; }

 private:
  static clockid_t clock_of(TimeOf time_of) {
    if (time_of == TimeOf::kWall) return CLOCK_MONOTONIC;
    return time_of == TimeOf::kThread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID;
  }
  double now() const {
    timespec time;
    clock_gettime(clock_, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  clockid_t clock_;
  double begin_;
};

}  // namespace halftone
