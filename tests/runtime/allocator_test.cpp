#include "runtime/allocator.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "runtime/counting_device.h"
#include "runtime/failing_new.h"
#include "runtime/memory/asan_poison.h"
#include "runtime/memory/page_heap.h"
#include "runtime/memory/slab.h"
#include "sanitizers.h"

namespace halftone {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kSegment = 2 * kMiB;

class CachingAllocatorTest : public testing::Test {
 protected:
  ~CachingAllocatorTest() override { EXPECT_EQ(allocator_.stats().current, 0) << "the test kept memory"; }

  Allocation take(size_t bytes, Category category = Category::kOther) { return allocator_.allocate(bytes, category); }

  // The error of a request; its code is OK if the request succeeds.
  Error error_of(size_t bytes) {
    try {
      allocator_.release(take(bytes));
    } catch (const Error& error) {
      return error;
    }
    return Error(Code::kOk, 0, "", "");
  }

  CountingDevice device_;
  CachingAllocator allocator_{device_};
};

TEST_F(CachingAllocatorTest, GivesAlignedMemoryOfEverySizeThatOverlapsNoOther) {
  std::vector<Allocation> all;
  const size_t sizes[] = {1,    2,    63,   64,   65,   511,  512,  513,   640,   641,      1024,     1025,
                          2048, 2049, 3584, 3585, 4095, 4096, 4097, 65536, 65537, kMiB - 1, kSegment, kSegment + 1};
  for (int round = 0; round < 3; ++round) {
    for (const size_t size : sizes) {
      all.push_back(take(size));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(all.back().data) % 64, 0u);
      EXPECT_EQ(all.back().size, size);
      std::memset(all.back().data, static_cast<int>(all.size()), size);
    }
  }
  for (size_t i = 0; i < all.size(); ++i) {
    const auto* bytes = static_cast<const unsigned char*>(all[i].data);
    EXPECT_EQ(std::count(bytes, bytes + all[i].size, static_cast<unsigned char>(i + 1)),
              static_cast<std::ptrdiff_t>(all[i].size));
    allocator_.release(all[i]);
  }
}

TEST_F(CachingAllocatorTest, GivesNothingForZeroBytes) {
  const Allocation nothing = take(0);
  EXPECT_EQ(nothing.data, nullptr);
  allocator_.release(nothing);
  EXPECT_EQ(device_.requests(), 0);
}

TEST_F(CachingAllocatorTest, ServesReleasedMemoryAgainWithoutTheDevice) {
  for (const size_t size : {size_t{100}, size_t{16384}, 5 * kMiB}) {
    allocator_.release(take(size));
    const int requests = device_.requests();
    for (int i = 0; i < 100; ++i) allocator_.release(take(size));
    EXPECT_EQ(device_.requests(), requests);
  }
}

TEST_F(CachingAllocatorTest, MergesAFragmentedSegmentIntoOneBlockAgain) {
  std::vector<Allocation> pieces;
  for (size_t i = 0; i < 128; ++i) pieces.push_back(take(16384));
  ASSERT_EQ(device_.blocks(), 1) << "128 pieces of 16 KiB fill one segment";
  std::shuffle(pieces.begin(), pieces.end(), std::mt19937(7));
  for (const Allocation& piece : pieces) allocator_.release(piece);
  const Allocation whole = take(kSegment);
  EXPECT_EQ(device_.requests(), 1) << "the segment is one block again";
  allocator_.release(whole);
}

TEST_F(CachingAllocatorTest, TakesTheSmallestBlockThatFits) {
  // Holes of up to 64 pages have a bin for each size; holes of 65 to 71 pages share one.
  for (const size_t few : {size_t{3}, size_t{66}}) {
    std::vector<Allocation> walls;
    std::vector<Allocation> holes;
    for (const size_t pages : {few + 2, few, few + 1}) {
      holes.push_back(take(pages * kPageSize));
      walls.push_back(take(kPageSize));
    }
    for (const Allocation& hole : holes) allocator_.release(hole);
    const Allocation fits = take(few * kPageSize - 1);
    const Allocation next = take(few * kPageSize - 1);
    EXPECT_EQ(fits.data, holes[1].data);
    EXPECT_EQ(next.data, holes[2].data);
    const Allocation last = take((few + 1) * kPageSize);
    EXPECT_EQ(last.data, holes[0].data);
    for (const Allocation& allocation : {fits, next, last}) allocator_.release(allocation);
    for (const Allocation& wall : walls) allocator_.release(wall);
  }
}

TEST_F(CachingAllocatorTest, GivesEverythingThatIsNotInUseBack) {
  std::vector<Allocation> all;
  for (size_t size = 1; size < 3 * kMiB; size = size * 3 + 1) {
    for (int i = 0; i < 10; ++i) all.push_back(take(size));
  }
  const Allocation kept = take(10);
  for (const Allocation& allocation : all) allocator_.release(allocation);
  allocator_.release_cached();
  EXPECT_EQ(allocator_.stats().reserved, static_cast<int64_t>(device_.taken()));
  EXPECT_EQ(device_.blocks(), 1) << "the segment of what is still in use";
  std::memset(kept.data, 1, kept.size);
  allocator_.release(kept);
  allocator_.release_cached();
  EXPECT_EQ(allocator_.stats().reserved, 0);
  EXPECT_EQ(device_.blocks(), 0);
}

// M4: the limit refuses a request before the system does.
TEST_F(CachingAllocatorTest, HoldsTheLimitAndTellsTheNumbers) {
  allocator_.set_limit(5 * kMiB);
  const Allocation a = take(3 * kMiB);  // a segment of 4 MiB
  const Error error = error_of(2 * kMiB);
  EXPECT_EQ(error.code(), Code::kOutOfMemory);
  EXPECT_NE(std::string(error.what())
                .find("requested 2097152 bytes, current 3145728, reserved 4194304, free among these 1048576, "
                      "limit 5242880"),
            std::string::npos)
      << error.what();
  EXPECT_EQ(error_of(kMiB).code(), Code::kOk);
  allocator_.release(a);
  EXPECT_EQ(error_of(5 * kMiB).code(), Code::kOk) << "cached memory gives way before the limit is reached";
  EXPECT_LE(allocator_.stats().reserved, 5 * static_cast<int64_t>(kMiB));
  allocator_.set_limit(100);
  allocator_.release_cached();
  EXPECT_EQ(error_of(1).code(), Code::kOutOfMemory);
  allocator_.set_limit(0);
  EXPECT_EQ(error_of(1).code(), Code::kOk);
}

// Each would leave 1.75 MiB in a segment of its own, which no other of them could use.
TEST_F(CachingAllocatorTest, LargeRequestsShareSegmentsThatGrowWithTheMemory) {
  constexpr size_t kCount = 64, kBytes = 9 * kMiB / 4;
  std::vector<Allocation> all;
  for (size_t i = 0; i < kCount; ++i) all.push_back(take(kBytes));
  EXPECT_LE(allocator_.stats().reserved, static_cast<int64_t>(kCount * kBytes / 2 * 3));
  EXPECT_LE(device_.requests(), static_cast<int>(kCount / 2));
  for (const Allocation& allocation : all) allocator_.release(allocation);
  allocator_.release_cached();
  EXPECT_EQ(device_.taken(), 0u);
}

// M3, M4
TEST_F(CachingAllocatorTest, TakesWhatARequestNeedsWhereASharedSegmentDoesNotFit) {
  const Allocation large = take(32 * kMiB);
  device_.set_capacity(36 * kMiB - kSegment);
  const Allocation small = take(kMiB);
  EXPECT_EQ(device_.requests(), 3) << "32 MiB, 4 MiB in vain, 2 MiB";
  EXPECT_EQ(allocator_.stats().reserved, static_cast<int64_t>(device_.taken()));
  device_.set_capacity(SIZE_MAX);
  allocator_.set_limit(static_cast<int64_t>(device_.taken() + kSegment));
  const Allocation other = take(kSegment);
  EXPECT_EQ(device_.requests(), 4) << "not more than the limit allows";
  for (const Allocation& allocation : {large, small, other}) allocator_.release(allocation);
}

// M4: a segment that is larger than its request must not take what later requests need.
TEST_F(CachingAllocatorTest, LeavesLargeRequestsNearlyAllOfTheLimit) {
  allocator_.set_limit(100 * kMiB);
  std::vector<Allocation> all;
  for (const size_t size : {64 * kMiB, 4 * kMiB, 30 * kMiB}) all.push_back(take(size));
  EXPECT_LE(allocator_.stats().reserved, 100 * static_cast<int64_t>(kMiB));
  for (const Allocation& allocation : all) allocator_.release(allocation);
}

TEST_F(CachingAllocatorTest, PassesOtherFailuresOfTheDeviceOnAtOnce) {
  device_.fail_at(0, true, Code::kDevice);
  EXPECT_EQ(error_of(100).code(), Code::kDevice);
  EXPECT_EQ(device_.requests(), 1);
  EXPECT_EQ(allocator_.stats().reserved, 0);
}

// M5
TEST_F(CachingAllocatorTest, RefusesAbsurdSizesWithoutAskingTheDevice) {
  for (const size_t bytes : {(size_t{1} << 48) + 1, size_t{1} << 62, SIZE_MAX - 4096, SIZE_MAX}) {
    const Error error = error_of(bytes);
    EXPECT_EQ(error.code(), Code::kOutOfMemory);
    EXPECT_NE(std::string(error.what()).find(std::to_string(bytes)), std::string::npos) << error.what();
  }
  EXPECT_EQ(device_.requests(), 0);
}

// Allocates and releases in a fixed order. If an allocation throws, it releases the rest. Returns the number of
// requests served.
int run_script(CachingAllocator& allocator) {
  const size_t sizes[] = {100, 70000, 3 * kMiB, 100, 3584, kMiB, 5 * kMiB, 64, kSegment, 16384};
  std::vector<Allocation> held;
  int served = 0;
  try {
    held.reserve(64);
    for (size_t round = 0; round < 4; ++round) {
      for (const size_t size : sizes) {
        held.push_back(allocator.allocate(size + round * 64, Category::kActivations));
        ++served;
        if (served % 3 == 0) {
          allocator.release(held.front());
          held.erase(held.begin());
        }
      }
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kOutOfMemory);
  } catch (const std::bad_alloc&) {
  }
  int64_t bytes = 0;
  for (const Allocation& allocation : held) bytes += static_cast<int64_t>(allocation.size);
  EXPECT_EQ(allocator.stats().current, bytes);
  for (const Allocation& allocation : held) allocator.release(allocation);
  return served;
}

// M3
TEST(CachingAllocatorFaults, StaysConsistentWhicheverRequestToTheDeviceFails) {
  for (const bool for_ever : {false, true}) {
    int failed_scripts = 0;
    for (int k = 0;; ++k) {
      CountingDevice device;
      CachingAllocator allocator(device);
      device.fail_at(k, for_ever);
      const int served = run_script(allocator);
      const bool reached = device.requests() > k;
      if (!for_ever || !reached) {
        EXPECT_EQ(served, 40) << "request " << k;
      }
      if (served < 40) ++failed_scripts;
      EXPECT_EQ(allocator.stats().reserved, static_cast<int64_t>(device.taken()));
      device.never_fail();
      EXPECT_EQ(run_script(allocator), 40) << "the allocator works on";
      allocator.release_cached();
      EXPECT_EQ(allocator.stats().reserved, 0);
      EXPECT_EQ(device.blocks(), 0);
      if (!reached) break;
      ASSERT_LT(k, 100);
    }
    EXPECT_EQ(failed_scripts > 0, for_ever);
  }
}

TEST(CachingAllocatorFaults, StaysConsistentWhicheverRecordCannotBeMade) {
  for (int64_t k = 0;; ++k) {
    CountingDevice device;
    CachingAllocator allocator(device);
    bool failed = false;
    {
      const FailingNew failing(k);
      run_script(allocator);
      failed = failing.has_failed();
    }
    EXPECT_EQ(allocator.stats().current, 0);
    EXPECT_EQ(allocator.stats().reserved, static_cast<int64_t>(device.taken()));
    EXPECT_EQ(run_script(allocator), 40);
    allocator.release_cached();
    EXPECT_EQ(device.blocks(), 0) << "call " << k;
    if (!failed) {
      EXPECT_GT(k, 10) << "the script makes more records than that";
      break;
    }
    ASSERT_LT(k, 1000);
  }
}

TEST(CachingAllocatorThreads, ServesAStormOfThreads) {
  CountingDevice device;
  CachingAllocator allocator(device);
  allocator.set_limit(64 * static_cast<int64_t>(kMiB));
  std::atomic<int> overlaps{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937 random(static_cast<unsigned>(thread));
      std::vector<Allocation> held;
      for (int i = 0; i < 3000; ++i) {
        if (held.size() < 8 && random() % 2 == 0) {
          const size_t size = 1 + random() % (size_t{1} << (1 + random() % 20));
          held.push_back(allocator.allocate(size, static_cast<Category>(thread % kCategoryCount)));
          std::memset(held.back().data, thread, size);
        } else if (!held.empty()) {
          const auto* bytes = static_cast<const unsigned char*>(held.back().data);
          if (bytes[0] != thread || bytes[held.back().size - 1] != thread) ++overlaps;
          allocator.release(held.back());
          held.pop_back();
        }
        if (i % 500 == thread) allocator.release_cached();
      }
      for (const Allocation& allocation : held) allocator.release(allocation);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(overlaps, 0);
  const MemoryStats stats = allocator.stats();
  EXPECT_EQ(stats.current, 0);
  for (const int64_t bytes : stats.by_category) EXPECT_EQ(bytes, 0);
  EXPECT_EQ(stats.reserved, static_cast<int64_t>(device.taken()));
  allocator.release_cached();
  EXPECT_EQ(device.blocks(), 0);
}

TEST(CachingAllocatorThreads, WorksInAChildForkedWhileAnotherThreadAllocates) {
  CountingDevice device;
  CachingAllocator allocator(device);
  // The sanitizer's own allocator does not work in a child forked while another thread is in it, so that no block may
  // come from there meanwhile.
  if (kThreadSanitizer) allocator.release(allocator.allocate(1 << 20, Category::kOther));
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) allocator.release(allocator.allocate(16384, Category::kOther));
  });
  for (int i = 0; i < 30; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      allocator.release(allocator.allocate(16384, Category::kOther));
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << "fork " << i;
  }
  stop = true;
  other.join();
}

// A30
TEST_F(CachingAllocatorTest, ShowsAddressSanitizerWhatMayBeTouched) {
  if (!kAddressSanitizer) GTEST_SKIP() << "not built with AddressSanitizer";
#ifdef HALFTONE_ASAN
  for (const size_t size : {size_t{100}, size_t{5001}}) {
    const Allocation allocation = take(size);
    const char* data = static_cast<const char*>(allocation.data);
    EXPECT_EQ(__asan_region_is_poisoned(allocation.data, size), nullptr);
    EXPECT_TRUE(__asan_address_is_poisoned(data + size));
    allocator_.release(allocation);
    EXPECT_TRUE(__asan_address_is_poisoned(data));
    EXPECT_TRUE(__asan_address_is_poisoned(data + size - 1));
  }
#endif
}

TEST(CellClass, CoversEverySizeBelowAPage) {
  for (size_t bytes = 1; bytes <= kLargestCell; ++bytes) {
    const int cell_class = cell_class_of(bytes);
    ASSERT_GE(cell_class, 0);
    ASSERT_LT(cell_class, kCellClassCount);
    ASSERT_GE(cell_size_of(cell_class), bytes);
    ASSERT_EQ(cell_size_of(cell_class) % kCellAlignment, 0u);
    if (cell_class > 0) {
      ASSERT_LT(cell_size_of(cell_class - 1), bytes) << "a smaller class would do";
    }
  }
  EXPECT_EQ(cell_size_of(kCellClassCount - 1), kLargestCell);
}

}  // namespace
}  // namespace halftone
