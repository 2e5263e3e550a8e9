// Keeps SIGPIPE from the calling thread while it calls Gloo, which writes to sockets without MSG_NOSIGNAL. One that
// came meanwhile is taken away, so that it does not end the program afterwards.
#pragma once

#include <signal.h>
#include <time.h>

namespace halftone {

class SigpipeGuard {
 public:
  SigpipeGuard() noexcept {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &set(), &previous_);
  }
  ~SigpipeGuard() {
    const timespec at_once{};
    if (!was_pending_ && sigismember(&previous_, SIGPIPE) == 0) {
      while (sigtimedwait(&set(), nullptr, &at_once) == SIGPIPE) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
  }
  SigpipeGuard(const SigpipeGuard&) = delete;
  SigpipeGuard& operator=(const SigpipeGuard&) = delete;

 private:
  static const sigset_t& set() noexcept {
    static const sigset_t sigpipe = [] {
      sigset_t result;
      sigemptyset(&result);
      sigaddset(&result, SIGPIPE);
      return result;
    }();
    return sigpipe;
  }

  bool was_pending_ = false;
  sigset_t previous_;
};

}  // namespace halftone
