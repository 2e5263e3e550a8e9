// The context's one pool of threads. Work is cut into chunks by shape alone and any thread takes any chunk, so results do
// not depend on the number of threads; whoever runs work takes part in it. Threads are started on first use, with all
// signals blocked and a stack size of their own, and started again in a forked child. Idle threads spin for at most
// 100 us, then sleep. Used from many threads at once: while one caller has the workers, others run their chunks alone.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace halftone {

class ThreadPool {
 public:
  // `width` threads in all, the caller included; at least 1.
  explicit ThreadPool(int width);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int width() const noexcept { return width_; }

  // A piece of work: `worker` is below width() and differs between chunks that run at the same time. Must not throw and
  // must not fork. A run of the same pool from within a task runs inline, on the task's thread.
  using Task = void (*)(void* context, int64_t chunk, int worker) noexcept;

  // Runs every chunk in [0, chunks) once and returns when all have ended. One chunk runs on the caller without any
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
