#include "process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace halftone_run {
namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

struct Pipe {
  int read_end;
  int write_end;
};

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail("cannot make a pipe");
  if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) fail("cannot set up a pipe");
  return {ends[0], ends[1]};
}

// In the new process. Another program may follow, so nothing is allocated between fork and here but the variables.
[[noreturn]] void run_command(int rank, const std::vector<std::string>& command, const Variables& variables,
                              const std::vector<Pipe>& pipes, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);  // it died before the line above
  for (size_t i = 0; i < pipes.size(); ++i) dup2(pipes[i].write_end, static_cast<int>(i) + 1);
  if (rank != 0) {
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) dup2(nothing, 0);
  }
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  std::fprintf(stderr, "halftone-run: cannot run %s: %s\n", arguments[0], std::strerror(error));
  std::fflush(stderr);
  _exit(error == ENOENT ? 127 : 126);
}

}  // namespace

Process::Process(int rank, const std::vector<std::string>& command, const Variables& variables, bool prefixes)
    : rank_(rank) {
  std::vector<Pipe> pipes;
  for (int file = 1; prefixes && file <= 2; ++file) pipes.push_back(make_pipe());
  const pid_t parent = getpid();
  id_ = fork();
  if (id_ < 0) fail("cannot start a process");
  if (id_ == 0) run_command(rank, command, variables, pipes, parent);
  for (size_t i = 0; i < pipes.size(); ++i) {
    close(pipes[i].write_end);
    std::string prefix = "[";
    prefix += std::to_string(rank);
    prefix += "] ";
    outputs_.push_back({.pipe = pipes[i].read_end, .writer = LineWriter(static_cast<int>(i) + 1, prefix)});
  }
}

void Process::end(int status) {
  has_ended_ = true;
  status_ = status;
}

int Process::exit_code() const { return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_); }

std::string Process::end_text() const {
  if (!WIFSIGNALED(status_)) return "exited with status " + std::to_string(WEXITSTATUS(status_));
  const int signal = WTERMSIG(status_);
  return "was killed by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
}

void Process::send_signal(int signal) const {
  if (!has_ended_) kill(id_, signal);
}

void copy_output(Output& output) {
  char buffer[8192];
  for (;;) {
    const ssize_t size = read(output.pipe, buffer, sizeof buffer);
    if (size > 0) {
      output.writer.write({buffer, static_cast<size_t>(size)});
      continue;
    }
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    output.writer.finish();
    close(output.pipe);
    output.pipe = -1;
    return;
  }
}

}  // namespace halftone_run
