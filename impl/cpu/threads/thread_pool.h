// The CPU device's pool of threads. Work is cut into chunks by shape alone and any thread takes any chunk, so results
// do not depend on the number of threads; the caller of a run takes chunks too. Threads start on first use, with all
// signals blocked and their own stack size, and start again in a forked child. Idle threads spin for at most 100 us,
// then sleep. Safe from many threads: while one caller has the workers, other callers run their chunks alone.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace halftone {

class ThreadPool {
 public:
  // `width` counts all threads, including the caller; at least 1.
  explicit ThreadPool(int width);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int width() const noexcept { return width_; }

  // One chunk of work. `worker` is below width() and differs between chunks that run at the same time. Must not throw
  // or fork. A run of the same pool from within a task runs inline, on the task's thread.
  using Task = void (*)(void* context, int64_t chunk, int worker) noexcept;

  // Runs every chunk in [0, chunks) once and returns when all have ended. A single chunk runs on the caller without
  // synchronisation.
  void run(int64_t chunks, Task task, void* context) noexcept;

  // Calls f(chunk, worker) for every chunk.
  template <class F>
  void parallel_for(int64_t chunks, F&& f) noexcept {
    run(
        chunks,
        [](void* context, int64_t chunk, int worker) noexcept {
          (*static_cast<std::remove_reference_t<F>*>(context))(chunk, worker);
        },
        const_cast<void*>(static_cast<const void*>(&f)));
  }

 private:
  struct State;
  int width_;
  std::unique_ptr<State> state_;
};

}  // namespace halftone
