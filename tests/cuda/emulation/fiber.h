// A function that runs on a stack of its own and can stop in the middle. One thread.
#pragma once

#include <cstddef>

namespace emulation {

class Fiber {
 public:
  using Body = void (*)(void* user);

  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Begins `body`, or goes on with it after its last stop. Returns when it stops or ends.
  void begin(Body body, void* user);
  void resume();
  // Called by the body: stops it.
  void stop();
  bool has_ended() const { return has_ended_; }

 private:
  static void enter();

  void switch_in();
  void switch_out(bool ends);

  char* stack_;
  void* own_ = nullptr;     // the fiber's stack pointer while it is stopped
  void* caller_ = nullptr;  // the caller's while the fiber runs
  Body body_ = nullptr;
  void* user_ = nullptr;
  bool has_ended_ = true;
  // For AddressSanitizer, which has to know the stacks.
  void* fake_stack_ = nullptr;
  const void* caller_stack_ = nullptr;
  size_t caller_size_ = 0;
};

}  // namespace emulation
