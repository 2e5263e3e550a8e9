// Processes of a test, for faults that threads cannot have: a process can be killed or stopped.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <thread>
#include <utility>

namespace halftone {

// A child that runs body() and ends: with 0, or with 1 if an expectation failed in it. The destructor kills it.
class ChildProcess {
 public:
  explicit ChildProcess(const std::function<void()>& body) {
    std::fflush(nullptr);  // otherwise both processes would print what is buffered
    id_ = fork();
    EXPECT_GE(id_, 0);
    if (id_ != 0) return;
    try {
      body();
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  ChildProcess(ChildProcess&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess() {
    if (id_ <= 0) return;
    send_signal(SIGKILL);
    wait();
  }

  pid_t id() const { return id_; }
  void send_signal(int number) const { EXPECT_EQ(kill(id_, number), 0); }
  // Returns the exit status, or minus the number of the signal that ended the process.
  int wait() {
    int status = 0;
    EXPECT_EQ(waitpid(std::exchange(id_, -1), &status, 0) > 0, true);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t id_;
};

}  // namespace halftone
