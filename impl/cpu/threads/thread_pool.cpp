#include "cpu/threads/thread_pool.h"

#include <fenv.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <vector>

#include "core/allowed_cpus.h"
#include "core/foreign_function.h"
#include "core/fork_hook.h"
#include "core/trace.h"
#include "cpu/threads/futex.h"

// A run in order: the caller writes the job, opens the gate, raises the epoch and takes chunks like the workers. A
// worker that sees a new epoch enters through the gate (which counts the workers inside), takes chunks until none is
// left, and leaves. When no chunk is left, the caller closes the gate and waits until no worker is inside. A worker
// that comes later finds the gate closed and has read nothing of the job, so the next run may overwrite the job at
// once.
namespace halftone {
namespace {

constexpr size_t kStackSize = size_t{1} << 20;
// About the cost of waking a sleeping thread: a longer spin would cost more than it can save.
constexpr std::chrono::microseconds kSpinTime{100};
constexpr int kPausesPerClockRead = 16;

constexpr uint32_t kOpen = 1u << 31;
constexpr uint32_t kCallerSleeps = 1u << 30;
constexpr uint32_t kInsideMask = kCallerSleeps - 1;

// Waits at most kSpinTime for `done`; returns whether it became true.
template <class Done>
bool spin_until(Done done) noexcept {
  const auto deadline = std::chrono::steady_clock::now() + kSpinTime;
  do {
    for (int i = 0; i < kPausesPerClockRead; ++i) {
      if (done()) return true;
      spin_pause();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

}  // namespace

struct ThreadPool::State {
  struct Worker {
    State* state = nullptr;
    int index = 0;
    pthread_t thread{};
  };

  explicit State(int width)
      : workers(static_cast<size_t>(width - 1)), fork_hook({nullptr, nullptr, forget_threads}, this) {}
  ~State() { stop(); }

  static void forget_threads(void* state) noexcept;
  static void* work(void* worker) noexcept;

  bool try_begin() noexcept { return !busy.load(std::memory_order_relaxed) && !busy.exchange(true); }
  void start_threads() noexcept;
  void stop() noexcept;
  void open(int64_t chunk_count, Task new_task, void* new_context) noexcept;
  void close() noexcept;
  void take_chunks(int worker) noexcept;
  void share_work(int worker) noexcept;
  bool enter() noexcept;
  void leave() noexcept;
  void wait_for_epoch_after(uint32_t seen) noexcept;

  std::vector<Worker> workers;
  std::atomic<bool> busy{false};  // a caller has the workers; guards the two members below
  bool tried_to_start = false;
  size_t started = 0;
  std::atomic<bool> may_spin{false};
  std::atomic<bool> stopping{false};

  // The job; read only by threads inside the gate.
  Task task = nullptr;
  void* context = nullptr;
  int64_t chunks = 0;
  const char* caller_span = nullptr;  // for traces; null without one

  // On separate cache lines, so that writes to one do not slow readers of another.
  alignas(64) std::atomic<int64_t> next_chunk{0};
  alignas(64) std::atomic<uint32_t> gate{0};  // kOpen, kCallerSleeps, and the number of workers inside
  alignas(64) std::atomic<uint32_t> epoch{0};
  std::atomic<uint32_t> sleepers{0};

  ForkHook fork_hook;
};

// Runs in a forked child, where only the forking thread exists. If another thread was inside a run, that run never ends
// and no thread waits for it: reset the state so that the child can start threads of its own.
void ThreadPool::State::forget_threads(void* pointer) noexcept {
  State& state = *static_cast<State*>(pointer);
  state.tried_to_start = false;
  state.started = 0;
  state.gate.store(0);
  state.sleepers.store(0);
  state.busy.store(false);
}

// If threads cannot be created the pool works with fewer: the caller takes their chunks.
void ThreadPool::State::start_threads() noexcept {
  tried_to_start = true;
  // With fewer CPUs than threads, a spinning thread would keep a working one from its CPU.
  may_spin.store(allowed_cpus() > static_cast<int>(workers.size()));
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  pthread_attr_setstacksize(&attributes, kStackSize);
  // New threads inherit the signal mask: only the embedding program's threads handle signals.
  sigset_t all;
  sigset_t previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  for (; started < workers.size(); ++started) {
    Worker& worker = workers[started];
    worker.state = this;
    worker.index = static_cast<int>(started) + 1;
    if (pthread_create(&worker.thread, &attributes, work, &worker) != 0) break;
  }
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  pthread_attr_destroy(&attributes);
}

void ThreadPool::State::stop() noexcept {
  stopping.store(true);
  epoch.fetch_add(1);
  futex_wake(epoch, INT_MAX);
  const CancellationGuard no_cancellation;
  for (size_t i = 0; i < started; ++i) pthread_join(workers[i].thread, nullptr);
}

void* ThreadPool::State::work(void* pointer) noexcept {
  const Worker& worker = *static_cast<Worker*>(pointer);
  State& state = *worker.state;
  // A thread inherits the rounding mode and the FTZ and DAZ bits of the thread that created it.
  fesetenv(FE_DFL_ENV);
  name_trace_thread("thread of the pool");
  while (true) {
    // Read the epoch before the gate: if the gate is closed now and a job opens later, the epoch has changed and the
    // wait below returns at once.
    const uint32_t seen = state.epoch.load();
    if (state.stopping.load()) return nullptr;
    if (state.enter()) {
      state.share_work(worker.index);
      state.leave();
    }
    state.wait_for_epoch_after(seen);
  }
}

void ThreadPool::State::wait_for_epoch_after(uint32_t seen) noexcept {
  const auto changed = [&] { return epoch.load(std::memory_order_acquire) != seen; };
  if (may_spin.load(std::memory_order_relaxed) && spin_until(changed)) return;
  // Sequentially consistent, to match open(): either this thread sees the new epoch, or the caller sees the sleeper.
  sleepers.fetch_add(1);
  while (epoch.load() == seen) futex_wait(epoch, seen);
  sleepers.fetch_sub(1);
}

bool ThreadPool::State::enter() noexcept {
  uint32_t value = gate.load(std::memory_order_relaxed);
  while ((value & kOpen) != 0) {
    if (gate.compare_exchange_weak(value, value + 1, std::memory_order_acquire, std::memory_order_relaxed)) return true;
  }
  return false;
}

void ThreadPool::State::leave() noexcept {
  const uint32_t before = gate.fetch_sub(1, std::memory_order_acq_rel);
  if (before == (kCallerSleeps | 1)) futex_wake(gate, 1);
}

void ThreadPool::State::take_chunks(int worker) noexcept {
  const int64_t count = chunks;
  while (true) {
    const int64_t chunk = next_chunk.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= count) return;
    task(context, chunk, worker);
  }
}

// The span ends before the thread leaves, so that a caller that has returned finds it in the trace.
void ThreadPool::State::share_work(int worker) noexcept {
  const TraceSpan span(TraceKind::kWorker, caller_span);
  take_chunks(worker);
}

void ThreadPool::State::open(int64_t chunk_count, Task new_task, void* new_context) noexcept {
  task = new_task;
  context = new_context;
  chunks = chunk_count;
  caller_span = TraceSpan::innermost();
  next_chunk.store(0, std::memory_order_relaxed);
  // Release: a worker that sees the open gate also sees the job.
  gate.store(kOpen, std::memory_order_release);
  epoch.fetch_add(1);
  const uint32_t asleep = sleepers.load();
  if (asleep > 0) futex_wake(epoch, static_cast<int>(chunk_count - 1 < asleep ? chunk_count - 1 : asleep));
}

void ThreadPool::State::close() noexcept {
  if (gate.fetch_and(~kOpen, std::memory_order_acq_rel) == kOpen) return;
  const auto empty = [&] { return (gate.load(std::memory_order_acquire) & kInsideMask) == 0; };
  if (may_spin.load(std::memory_order_relaxed) && spin_until(empty)) return;
  uint32_t value = gate.fetch_or(kCallerSleeps, std::memory_order_acq_rel) | kCallerSleeps;
  while ((value & kInsideMask) != 0) {
    futex_wait(gate, value);
    value = gate.load(std::memory_order_acquire);
  }
}

ThreadPool::ThreadPool(int width) : width_(width), state_(std::make_unique<State>(width)) {}

ThreadPool::~ThreadPool() = default;

void ThreadPool::run(int64_t chunks, Task task, void* context) noexcept {
  if (chunks < 2 || width_ == 1 || !state_->try_begin()) {
    for (int64_t chunk = 0; chunk < chunks; ++chunk) task(context, chunk, 0);
    return;
  }
  if (!state_->tried_to_start) state_->start_threads();
  state_->open(chunks, task, context);
  state_->take_chunks(0);
  state_->close();
  state_->busy.store(false);
}

}  // namespace halftone
