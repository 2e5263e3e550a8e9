// A run: all processes of this machine, from the first start to the last end.
#pragma once

#include <sys/types.h>

#include <deque>
#include <string>

#include "options.h"
#include "process.h"

namespace halftone_run {

class Run {
 public:
  explicit Run(const Options& options);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Starts the processes and waits for all of them. Returns the exit code of halftone-run. Throws std::system_error.
  int wait();

 private:
  void start();
  Variables variables_of(int local_rank) const;
  void copy_outputs();
  void wait_for_events();
  void take_signals();
  void take_ends();
  void note_end(Process& process, int status);
  void stop(int signal);
  void kill_late();
  bool is_over() const;
  int milliseconds_to_kill() const;

  const Options& options_;
  std::string folder_;  // of the file store; empty without one
  pid_t keeper_ = -1;   // removes the folder of a launcher that was killed; -1 without a folder
  std::string secret_;
  int signals_ = -1;               // a signalfd of SIGCHLD, SIGINT and SIGTERM
  std::deque<Process> processes_;  // which stay in place
  int exit_code_ = 0;
  bool is_stopping_ = false;
  bool is_killing_ = false;
  double stop_time_ = 0;
};

}  // namespace halftone_run
