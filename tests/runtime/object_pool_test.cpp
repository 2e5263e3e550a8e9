// This program has an operator new that counts, and contexts that keep nothing (failing_allocations.h), so that a test
// alone decides when the pool has a user.
#include "core/object_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "core/ref.h"
#include "failing_allocations.h"
#include "runtime/context.h"
#include "sanitizers.h"

namespace halftone {
namespace {

class ObjectPool : public testing::Test {
 protected:
  void SetUp() override {
    if (kAnySanitizer) GTEST_SKIP() << "the sanitizers' builds have no pool, so that each use after release shows";
  }
};

using Pool = halftone::ObjectPool;

// Allocates and releases one object of this size, and returns the calls of operator new.
int64_t heap_calls(size_t bytes) {
  const int64_t before = blocks_allocated();
  Pool::release(Pool::allocate(bytes), bytes);
  return blocks_allocated() - before;
}

TEST_F(ObjectPool, M11_KeepsABlockForTheNextObjectOfItsSize) {
  const Pool::User user(true);
  EXPECT_EQ(heap_calls(200), 1);
  EXPECT_EQ(heap_calls(200), 0);
  EXPECT_EQ(heap_calls(185), 0);  // the smallest object of a block of 200 bytes
  EXPECT_EQ(heap_calls(184), 1);
  EXPECT_EQ(heap_calls(201), 1);
  EXPECT_EQ(heap_calls(1024), 1);
  EXPECT_EQ(heap_calls(1024), 0);
}

TEST_F(ObjectPool, LeavesLargeObjectsToTheHeap) {
  const Pool::User user(true);
  EXPECT_EQ(heap_calls(1033), 1);
  EXPECT_EQ(heap_calls(1033), 1);
}

TEST_F(ObjectPool, TwoObjectsNeverShareABlock) {
  const Pool::User user(true);
  heap_calls(64);
  void* const first = Pool::allocate(64);
  void* const second = Pool::allocate(64);
  EXPECT_NE(first, second);
  Pool::release(first, 64);
  Pool::release(second, 64);
}

TEST_F(ObjectPool, KeepsNothingWithoutAUserThatKeeps) {
  const Pool::User user(false);
  EXPECT_EQ(heap_calls(200), 1);
  EXPECT_EQ(heap_calls(200), 1);
}

TEST_F(ObjectPool, M11_FreesAllBlocksWithItsLastUser) {
  const int64_t before = blocks_in_use();
  void* late = nullptr;
  {
    const Pool::User outer(true);
    {
      const Pool::User inner(true);
      heap_calls(64);
      heap_calls(1000);
    }
    EXPECT_EQ(blocks_in_use(), before + 2);
    late = Pool::allocate(300);
  }
  EXPECT_EQ(blocks_in_use(), before + 1);
  Pool::release(late, 300);
  EXPECT_EQ(blocks_in_use(), before);
}

TEST_F(ObjectPool, KeepsABoundedNumberOfBytes) {
  constexpr int64_t kCount = 20000, kMostKept = (8 << 20) / 1032;
  const Pool::User user(true);
  const int64_t before = blocks_in_use();
  std::vector<void*> blocks(kCount);
  const int64_t with_list = blocks_in_use();
  for (void*& block : blocks) block = Pool::allocate(1024);
  EXPECT_EQ(blocks_in_use(), with_list + kCount);
  for (void* block : blocks) Pool::release(block, 1024);
  EXPECT_EQ(blocks_in_use(), with_list + kMostKept);
  EXPECT_EQ(with_list, before + 1);
}

TEST_F(ObjectPool, TakesABlockThatAnotherThreadReleased) {
  const Pool::User user(true);
  void* const block = Pool::allocate(500);
  std::thread([block] { Pool::release(block, 500); }).join();
  EXPECT_EQ(heap_calls(500), 0);
}

struct Chained : RefCounted {
  Ref<Chained> next;
  char filling[100] = {};
};

// Allocates, writes and releases objects of several sizes until it is told to stop.
void work(const std::atomic<bool>& stop) {
  while (!stop.load()) {
    Ref<Chained> first = make_ref<Chained>();
    first->next = make_ref<Chained>();
    Pool::release(Pool::allocate(900), 900);
  }
}

TEST_F(ObjectPool, GivesEveryThreadItsOwnObjects) {
  const int64_t before = blocks_in_use();
  std::atomic<bool> failed{false};
  {
    const Pool::User user(true);
    std::vector<std::thread> threads;
    for (int number = 0; number < 24; ++number) {
      threads.emplace_back([number, &failed] {
        for (int i = 0; i < 2000; ++i) {
          auto* mine = static_cast<volatile int*>(Pool::allocate(64));
          mine[0] = number;
          mine[15] = number;
          if (mine[0] != number || mine[15] != number) failed = true;
          Pool::release(const_cast<int*>(mine), 64);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_FALSE(failed.load());
  EXPECT_LE(blocks_in_use(), before);
}

TEST_F(ObjectPool, M11_AChildOfAForkMayUseIt) {
  constexpr int kForks = 50, kRight = 23;
  const Pool::User user(true);
  std::atomic<bool> stop{false};
  std::thread other(work, std::cref(stop)), another(work, std::cref(stop));
  for (int i = 0; i < kForks; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (int j = 0; j < 100; ++j) {
        Ref<Chained> object = make_ref<Chained>();
        object->next = make_ref<Chained>();
      }
      { const Pool::User last(true); }
      _exit(kRight);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_EQ(WEXITSTATUS(status), kRight);
  }
  stop = true;
  other.join();
  another.join();
}

TEST_F(ObjectPool, AContextKeepsUnlessTheVariableSaysNo) {
  setenv("HALFTONE_OBJECT_POOL", "1", 1);
  {
    const Ref<Context> context = make_ref<Context>(ContextOptions{.num_threads = 1});
    heap_calls(700);
    EXPECT_EQ(heap_calls(700), 0);
  }
  setenv("HALFTONE_OBJECT_POOL", "0", 1);
  const Ref<Context> context = make_ref<Context>(ContextOptions{.num_threads = 1});
  EXPECT_EQ(heap_calls(700), 1);
  EXPECT_EQ(heap_calls(700), 1);
}

}  // namespace
}  // namespace halftone
