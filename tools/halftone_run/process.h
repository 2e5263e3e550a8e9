// One process of a run: its start with its variables, its output, its end.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "line_writer.h"

namespace halftone_run {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct Output {
  int pipe = -1;  // to read from; -1 at its end
  LineWriter writer;
};

class Process {
 public:
  // Starts the command. Its standard input is that of this program for rank 0, and empty for the others. Throws
  // std::system_error. If this program dies, the process gets SIGTERM.
  Process(int rank, const std::vector<std::string>& command, const Variables& variables, bool prefixes);

  int rank() const { return rank_; }
  pid_t id() const { return id_; }
  bool has_ended() const { return has_ended_; }
  // REQUIRES: has_ended()
  bool has_failed() const { return status_ != 0; }
  // The status that a shell would tell.
  int exit_code() const;
  // "exited with status 3", "was killed by signal 9 (Killed)"
  std::string end_text() const;
  void end(int status);

  void send_signal(int signal) const;
  // Standard output and standard error; empty without prefixes, when the process has this program's own.
  std::vector<Output>& outputs() { return outputs_; }

 private:
  int rank_;
  pid_t id_ = -1;
  bool has_ended_ = false;
  int status_ = 0;  // of waitpid
  std::vector<Output> outputs_;
};

// Copies what is there to read; closes the pipe at its end.
void copy_output(Output& output);

}  // namespace halftone_run
