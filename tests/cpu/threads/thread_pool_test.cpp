#include "cpu/threads/thread_pool.h"

#include <fenv.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/trace.h"
#include "sanitizers.h"

namespace halftone {
namespace {

using Clock = std::chrono::steady_clock;

// Returns true if each of `chunks` chunks ran exactly once.
bool runs_each_once(ThreadPool& pool, int64_t chunks) {
  std::vector<std::atomic<int>> counts(static_cast<size_t>(chunks));
  pool.parallel_for(chunks, [&](int64_t chunk, int) { ++counts[static_cast<size_t>(chunk)]; });
  for (const auto& count : counts) {
    if (count != 1) return false;
  }
  return true;
}

// Runs `f(worker)` on both threads of a pool of two at the same time; returns false if the second thread never arrived.
template <class F>
bool run_on_both(ThreadPool& pool, F f) {
  std::atomic<int> arrived{0};
  std::atomic<bool> alone{false};
  const auto deadline = Clock::now() + std::chrono::minutes(1);
  pool.parallel_for(2, [&](int64_t, int worker) {
    ++arrived;
    while (arrived < 2 && Clock::now() < deadline) std::this_thread::yield();
    if (arrived < 2) alone = true;
    f(worker);
  });
  return !alone;
}

// Runs `body` in a forked child with a watchdog. Returns its exit code, or -1 if a signal ended it.
template <class Body>
int exit_code_of_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class ThreadPoolWidth : public testing::TestWithParam<int> {};

TEST_P(ThreadPoolWidth, RunsEveryChunkOnce) {
  ThreadPool pool(GetParam());
  EXPECT_EQ(pool.width(), GetParam());
  for (int round = 0; round < 50; ++round) {
    for (const int64_t chunks : {0, 1, 2, 3, 7, 64, 1001}) ASSERT_TRUE(runs_each_once(pool, chunks)) << chunks;
  }
}

TEST_P(ThreadPoolWidth, GivesChunksThatRunTogetherDifferentWorkers) {
  ThreadPool pool(GetParam());
  std::vector<std::atomic<bool>> taken(static_cast<size_t>(GetParam()));
  std::atomic<int> faults{0};
  pool.parallel_for(5000, [&](int64_t, int worker) {
    if (worker < 0 || worker >= pool.width() || taken[static_cast<size_t>(worker)].exchange(true)) ++faults;
    taken[static_cast<size_t>(worker)] = false;
  });
  EXPECT_EQ(faults, 0);
}

TEST_P(ThreadPoolWidth, RunsANestedRunInline) {
  ThreadPool pool(GetParam());
  std::atomic<int> inner{0};
  std::atomic<int> strangers{0};
  pool.parallel_for(20, [&](int64_t, int) {
    const std::thread::id self = std::this_thread::get_id();
    pool.parallel_for(30, [&](int64_t, int worker) {
      ++inner;
      if (worker != 0 || std::this_thread::get_id() != self) ++strangers;
    });
  });
  EXPECT_EQ(inner, 600);
  // With one thread the outer run is itself inline.
  EXPECT_EQ(strangers, 0);
}

TEST_P(ThreadPoolWidth, ServesCallersFromManyThreads) {
  ThreadPool pool(GetParam());
  std::atomic<int> faults{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        if (!runs_each_once(pool, 1 + round % 40)) ++faults;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(faults, 0);
}

TEST_P(ThreadPoolWidth, ComputesInAForkedChild) {
  if (kThreadSanitizer && GetParam() > 1) GTEST_SKIP() << "ThreadSanitizer allows no threads after a fork";
  ThreadPool pool(GetParam());
  EXPECT_TRUE(runs_each_once(pool, 100));
  EXPECT_EQ(exit_code_of_child([&] { return runs_each_once(pool, 100) && runs_each_once(pool, 1000); }), 0);
  EXPECT_TRUE(runs_each_once(pool, 100));
}

INSTANTIATE_TEST_SUITE_P(Widths, ThreadPoolWidth, testing::Values(1, 2, 7));

TEST(ThreadPool, ComputesInAChildForkedWhileAnotherThreadRuns) {
  if (kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer allows no threads after a fork";
  ThreadPool pool(2);
  std::atomic<bool> stop{false};
  std::atomic<int64_t> runs{0};
  // Threads allocate memory when they start. A child that is forked meanwhile cannot use AddressSanitizer's allocator,
  // whose lock stays taken, so under it both threads have started before.
  ASSERT_TRUE(!kAddressSanitizer || run_on_both(pool, [](int) {}));
  std::thread runner([&] {
    for (; !stop; ++runs) pool.parallel_for(16, [](int64_t, int) { std::this_thread::yield(); });
  });
  while (kAddressSanitizer && runs == 0) std::this_thread::yield();
  for (int i = 0; i < 30; ++i) {
    const int code = exit_code_of_child([&] { return runs_each_once(pool, 100) && run_on_both(pool, [](int) {}); });
    EXPECT_EQ(code, 0) << "fork " << i;
  }
  stop = true;
  runner.join();
}

TEST(ThreadPool, LetsAForkedChildDestroyItWithoutItsThreads) {
  auto pool = std::make_unique<ThreadPool>(4);
  EXPECT_TRUE(runs_each_once(*pool, 100));
  EXPECT_EQ(exit_code_of_child([&] {
              pool.reset();
              return true;
            }),
            0);
}

TEST(ThreadPool, CanBeMadeAndDestroyedAThousandTimes) {
  for (int i = 0; i < 1000; ++i) {
    ThreadPool pool(1 + i % 4);
    if (i % 3 != 0) {
      ASSERT_TRUE(runs_each_once(pool, 1 + i % 5));
    }
  }
}

TEST(ThreadPool, BlocksEverySignalInItsThreads) {
  ThreadPool pool(2);
  std::atomic<int> open_signals{-1};
  ASSERT_TRUE(run_on_both(pool, [&](int worker) {
    if (worker == 0) return;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    int open = 0;
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGALRM, SIGUSR1, SIGCHLD, SIGPROF}) {
      if (sigismember(&mask, signal) == 0) ++open;
    }
    open_signals = open;
  }));
  EXPECT_EQ(open_signals, 0);
  sigset_t mine;
  pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  EXPECT_EQ(sigismember(&mine, SIGUSR1), 0) << "the caller's own mask must stay as it was";
}

TEST(ThreadPool, GivesItsThreadsAStackOfOneMebibyte) {
  ThreadPool pool(2);
  std::atomic<size_t> size{0};
  ASSERT_TRUE(run_on_both(pool, [&](int worker) {
    if (worker == 0) return;
    pthread_attr_t attributes;
    pthread_getattr_np(pthread_self(), &attributes);
    void* address = nullptr;
    size_t stack = 0;
    pthread_attr_getstack(&attributes, &address, &stack);
    pthread_attr_destroy(&attributes);
    size = stack;
  }));
  EXPECT_GE(size, size_t{1} << 20);
  EXPECT_LE(size, size_t{2} << 20);
}

// H7
TEST(ThreadPool, StartsItsThreadsWithTheDefaultRounding) {
  ThreadPool pool(2);
  std::atomic<int> rounding{-1};
  fesetround(FE_UPWARD);
  const bool both = run_on_both(pool, [&](int worker) {
    if (worker != 0) rounding = fegetround();
  });
  fesetround(FE_TONEAREST);
  ASSERT_TRUE(both);
  EXPECT_EQ(rounding, FE_TONEAREST);
}

TEST(ThreadPool, SleepsWhenIdle) {
  ThreadPool pool(2);
  EXPECT_TRUE(runs_each_once(pool, 100));
  const auto cpu_time = [] {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  };
  const auto before = cpu_time();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(cpu_time() - before, std::chrono::milliseconds(40));
}

TEST(ThreadPool, WakesItsThreadsAfterEverySleep) {
  ThreadPool pool(2);
  for (int i = 0; i < 50; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_TRUE(run_on_both(pool, [](int) {})) << "round " << i;
  }
}

// M6
TEST(ThreadPool, ComputesWithTheThreadsItCanGet) {
  if (kAnySanitizer) GTEST_SKIP() << "sanitizers end the process where a thread cannot be made";
  constexpr int kWidth = 64;
  EXPECT_EQ(exit_code_of_child([] {
              ThreadPool pool(kWidth);
              const rlimit none = {0, 0};
              setrlimit(RLIMIT_AS, &none);  // no more stacks can be mapped
              std::atomic<int64_t> sum{0};
              pool.parallel_for(100000, [&](int64_t chunk, int) { sum += chunk; });
              struct stat tasks;  // a directory has one link per subdirectory and two more
              const bool fewer = stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink - 2 < kWidth;
              return sum == 4999950000 && fewer;
            }),
            0);
}

// H5
TEST(ThreadPool, LetsTheProcessExitWhileItsThreadsSleep) {
  EXPECT_EXIT(
      {
        static ThreadPool* pool = new ThreadPool(3);
        const bool right = runs_each_once(*pool, 100);
        std::exit(right ? 7 : 1);
      },
      testing::ExitedWithCode(7), "");
}

TEST(ThreadPool, ShowsASharedTaskInATraceUnderTheNameOfItsCaller) {
  ThreadPool pool(2);
  start_trace(100);
  bool both = false;
  {
    const TraceSpan span(TraceKind::kOperation, "matmul");
    both = run_on_both(pool, [](int) {});
  }
  const Trace trace = stop_trace();
  ASSERT_TRUE(both);
  ASSERT_GE(trace.events.size(), 2u);
  EXPECT_EQ(trace.threads.size(), 2u);
  const auto is_share = [](const TraceEvent& event) {
    return event.kind == TraceKind::kWorker && std::string(event.name) == "matmul";
  };
  EXPECT_EQ(std::count_if(trace.events.begin(), trace.events.end(), is_share), 1);
}

}  // namespace
}  // namespace halftone
