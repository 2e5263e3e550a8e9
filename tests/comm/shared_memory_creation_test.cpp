// Ranks that meet to share memory: those that do not fit are refused, and nothing is left behind.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "comm/shared_memory/segment_address.h"
#include "host_tensor.h"
#include "sanitizers.h"
#include "shared_memory_ranks.h"

namespace halftone {
namespace {

constexpr int64_t kLong = 60'000 * kMillisecond;  // a test that waits for this deadline has failed

// The error of joining; OK if the rank joined.
Status error_of_joining(KeyValueStore& store, int rank, int size, int64_t timeout_ns) {
  try {
    join_shared(store, rank, size, timeout_ns);
    return {};
  } catch (const Error& error) {
    Status status = Status::failure(error.code(), "%s", error.what());
    status.native_code = error.native_code();
    return status;
  }
}

bool has_address(KeyValueStore& store, int rank) {
  const std::string key = "shared_memory/world/" + std::to_string(rank);
  const char* keys[] = {key.c_str()};
  return store.wait(keys, 1, 0).ok();
}

int entries_of(const char* folder) {
  const std::filesystem::directory_iterator entries(folder);
  return static_cast<int>(std::distance(begin(entries), end(entries)));
}

// Memory of segments that is mapped, as lines of the system's list.
int mapped_segments() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("memfd:halftone") != std::string::npos;
  return count;
}

// Rank 2 would wait longer, but rank 0 tells it.
TEST(SharedMemoryCreation, MissingRanksAreATimeoutThatListsThemOnAllRanks) {
  const OwnedStore store = create_memory_store();
  const auto expect_timeout = [&](int rank, int64_t timeout_ns) {
    const Status status = error_of_joining(*store, rank, 5, timeout_ns);
    EXPECT_EQ(status.code, Code::kTimeout) << status.message;
    EXPECT_TRUE(says(status, "the group \"world\" of 5 ranks lacks these at the deadline: 1, 3, 4")) << status.message;
  };
  const auto start = std::chrono::steady_clock::now();
  std::thread other([&] { expect_timeout(2, kLong); });
  while (!has_address(*store, 2)) std::this_thread::yield();
  expect_timeout(0, 400 * kMillisecond);
  other.join();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  for (int rank = 0; rank < 5; ++rank) EXPECT_FALSE(has_address(*store, rank)) << rank;
  run_shared_threads(2, [](Rank& rank) { EXPECT_TRUE(barrier_of(*rank.group).ok()); });
}

TEST(SharedMemoryCreation, D10_ATakenRankIsRefusedAndTheOthersProceed) {
  const OwnedStore store = create_memory_store();
  std::thread first([&] { EXPECT_TRUE(error_of_joining(*store, 0, 2, kLong).ok()); });
  while (!has_address(*store, 0)) std::this_thread::yield();
  const Status status = error_of_joining(*store, 0, 2, kLong);
  EXPECT_EQ(status.code, Code::kComm) << status.message;
  EXPECT_TRUE(says(status, "rank 0 of the group \"world\" is taken")) << status.message;
  EXPECT_TRUE(error_of_joining(*store, 1, 2, kLong).ok());
  first.join();
}

TEST(SharedMemoryCreation, D10_AnotherSizeIsRefusedOnAllRanks) {
  const OwnedStore store = create_memory_store();
  const auto expect_refusal = [&](int rank, int size) {
    const Status status = error_of_joining(*store, rank, size, kLong);
    EXPECT_EQ(status.code, Code::kComm) << status.message;
    EXPECT_TRUE(says(status, "creates the group with")) << status.message;
  };
  std::thread other([&] {
    while (!has_address(*store, 0)) std::this_thread::yield();
    expect_refusal(1, 3);
  });
  expect_refusal(0, 2);
  other.join();
}

TEST(SharedMemoryCreation, ANameIsFreeAgainWhenItsRanksHaveMet) {
  const OwnedStore store = create_memory_store();
  std::vector<std::thread> threads;
  for (int number = 0; number < 3; ++number) {
    threads.emplace_back([&, number] {
      for (int run = 0; run < 10; ++run) {
        const Rank rank = join_shared(*store, number, 3, kLong);
        EXPECT_TRUE(run % 2 == 1 || barrier_of(*rank.group).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int rank = 0; rank < 3; ++rank) EXPECT_FALSE(has_address(*store, rank)) << rank;
}

TEST(SharedMemoryCreation, ManyGroupsOfOneStoreDoNotMix) {
  const std::vector<std::string> names = {"world", "data", "tensor"};
  const OwnedStore store = create_memory_store();
  std::vector<std::thread> threads;
  for (int number = 0; number < 2; ++number) {
    threads.emplace_back([&, number] {
      std::vector<Rank> ranks;
      for (const std::string& name : names) ranks.push_back(join_shared(*store, number, 2, kLong, name.c_str()));
      for (size_t i = 0; i < names.size(); ++i) {
        HostTensor data(DType::kF32, {1});
        data.set(0, static_cast<double>(i * 10) + number);
        EXPECT_TRUE(result_of([&](Work** w) {
                      return ranks[i].group->all_reduce({}, ReduceOp::kSum, data.view(), data.view(), w);
                    }).ok());
        EXPECT_EQ(data.get(0), static_cast<double>(i * 20 + 1));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(SharedMemoryCreation, NoFileAndNoMemoryIsLeft) {
  const auto use_and_fail = [] {
    run_shared_threads(3, [](Rank& rank) { EXPECT_TRUE(barrier_of(*rank.group).ok()); });
    const OwnedStore store = create_memory_store();
    EXPECT_EQ(error_of_joining(*store, 0, 2, kMillisecond).code, Code::kTimeout);
  };
  use_and_fail();
  const int files = entries_of("/proc/self/fd");
  const int names = entries_of("/dev/shm");
  EXPECT_EQ(mapped_segments(), 0);
  for (int run = 0; run < 5; ++run) use_and_fail();
  EXPECT_EQ(entries_of("/proc/self/fd"), files);
  EXPECT_EQ(entries_of("/dev/shm"), names);
  EXPECT_EQ(mapped_segments(), 0);
}

TEST(SharedMemoryCreation, D19_TooFewDescriptorsForTheGroupAreToldWithAdvice) {
  ChildProcess child([] {
    const rlimit limit = {.rlim_cur = 24, .rlim_max = 24};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    const OwnedStore store = create_memory_store();
    const Status status = error_of_joining(*store, 0, 12, kLong);
    EXPECT_EQ(status.code, Code::kIo) << status.message;
    EXPECT_EQ(status.native_code, EMFILE);
    for (const char* text : {"the limit is 24", "ulimit -n", "to 40"})
      EXPECT_TRUE(says(status, text)) << status.message;
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(SharedMemoryCreation, AGroupOfOneRankWorks) {
  run_shared_threads(1, [](Rank& rank) {
    HostTensor data(DType::kF16, {3});
    data.set(1, 5);
    EXPECT_TRUE(result_of([&](Work** w) {
                  return rank.group->all_reduce({}, ReduceOp::kAverage, data.view(), data.view(), w);
                }).ok());
    EXPECT_EQ(data.get(1), 5);
    EXPECT_TRUE(barrier_of(*rank.group).ok());
  });
}

// Puts an address in rank 1's place, as `change` leaves it, and returns rank 0's error.
template <class Change>
Status error_beside(Change&& change) {
  const OwnedStore store = create_memory_store();
  const Segment segment = Segment::create(2, kPageBytes);
  SegmentAddress address = address_of(segment, 1, 2);
  change(address);
  EXPECT_TRUE(store->set("shared_memory/world/1", {.data = &address, .bytes = sizeof address}).ok());
  return error_of_joining(*store, 0, 2, 300 * kMillisecond);
}

TEST(SharedMemoryCreation, ARankOnAnotherMachineIsUnsupported) {
  const Status status = error_beside([](SegmentAddress& address) { std::strcpy(address.machine, "another one"); });
  EXPECT_EQ(status.code, Code::kUnsupported) << status.message;
  EXPECT_TRUE(says(status, "ranks 0 and 1 are on different machines or in different containers")) << status.message;
}

TEST(SharedMemoryCreation, D14_ARankOfAnotherBuildIsRefused) {
  const Status status = error_beside([](SegmentAddress& address) { std::strcpy(address.build, "halftone 0.0.1"); });
  EXPECT_EQ(status.code, Code::kComm) << status.message;
  EXPECT_TRUE(says(status, "rank 1 the build \"halftone 0.0.1\"")) << status.message;
  const OwnedStore store = create_memory_store();
  EXPECT_TRUE(store->set("shared_memory/world/1", {.data = "short", .bytes = 5}).ok());
  const Status other = error_of_joining(*store, 0, 2, kLong);
  EXPECT_EQ(other.code, Code::kComm) << other.message;
  EXPECT_TRUE(says(other, "another build")) << other.message;
}

TEST(SharedMemoryCreation, AnAddressThatADeadProcessLeftIsALostRank) {
  ChildProcess dead([] {});
  const pid_t number = dead.id();
  EXPECT_EQ(dead.wait(), 0);
  const Status gone = error_beside([&](SegmentAddress& address) { address.process = number; });
  EXPECT_EQ(gone.code, Code::kPeerLost) << gone.message;
  // The number belongs to another process now, or the file to something else.
  const Status other = error_beside([&](SegmentAddress& address) { address.nonce += 1; });
  EXPECT_EQ(other.code, Code::kPeerLost) << other.message;
  const Status closed = error_beside([&](SegmentAddress& address) { address.file = 1'000'000; });
  EXPECT_EQ(closed.code, Code::kPeerLost) << closed.message;
}

TEST(SharedMemoryCreation, AFileThatIsNoSegmentIsRefused) {
  const Descriptor file(open("/dev/null", O_RDWR | O_CLOEXEC));
  const Status status = error_beside([&](SegmentAddress& address) { address.file = file.get(); });
  EXPECT_EQ(status.code, Code::kComm) << status.message;
  EXPECT_TRUE(says(status, "is not the shared memory of 2 ranks")) << status.message;
}

// Rank 1 maps nothing, so rank 0 waits for it until the deadline.
TEST(SharedMemoryCreation, ARankThatMapsNothingIsMissing) {
  const Status status = error_beside([](SegmentAddress&) {});
  EXPECT_EQ(status.code, Code::kTimeout) << status.message;
  EXPECT_TRUE(says(status, "lacks these at the deadline: 1")) << status.message;
}

// Opens files until the process may open no more, but for `spare` of them.
std::vector<Descriptor> fill_open_files(size_t spare) {
  std::vector<Descriptor> files;
  for (Descriptor next(open("/dev/null", O_RDONLY)); next.get() >= 0; next = Descriptor(open("/dev/null", O_RDONLY))) {
    files.push_back(std::move(next));
  }
  EXPECT_EQ(errno, EMFILE);
  files.resize(files.size() - spare);
  return files;
}

TEST(SharedMemoryCreation, D19_TooFewFilesAreAnErrorWithErrnoAndNoneStaysOpen) {
  if (kAddressSanitizer) GTEST_SKIP() << "UndefinedBehaviorSanitizer opens files of its own";
  ChildProcess child([] {
    const OwnedStore store = create_memory_store();
    EXPECT_EQ(error_of_joining(*store, 0, 2, kMillisecond).code, Code::kTimeout);  // opens what stays open
    const Segment segment = Segment::create(2, kPageBytes);
    const SegmentAddress address = address_of(segment, 1, 2);
    EXPECT_TRUE(store->set("shared_memory/world/1", {.data = &address, .bytes = sizeof address}).ok());
    const int files = entries_of("/proc/self/fd");
    const rlimit few = {.rlim_cur = 64, .rlim_max = 64};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    {
      const std::vector<Descriptor> full = fill_open_files(1);  // room for the rank's own segment
      const Status status = error_of_joining(*store, 0, 2, kLong);
      EXPECT_EQ(status.code, Code::kIo) << status.message;
      EXPECT_EQ(status.native_code, EMFILE) << status.message;
      EXPECT_TRUE(says(status, "ulimit -n")) << status.message;
    }
    EXPECT_EQ(entries_of("/proc/self/fd"), files);
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(SharedMemoryCreation, ALimitOnTheSizeOfFilesIsAnErrorAndNoSignal) {
  ChildProcess child([] {
    const rlimit small = {.rlim_cur = 10'000, .rlim_max = 10'000};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    const OwnedStore store = create_memory_store();
    const Status status = error_of_joining(*store, 0, 2, kLong);
    EXPECT_EQ(status.code, Code::kOutOfMemory) << status.message;
    EXPECT_EQ(status.native_code, EFBIG);
  });
  EXPECT_EQ(child.wait(), 0);
}

// From now on this process gets no memory that others can map, as in some containers.
void forbid_shared_memory(uint32_t error) {
  sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program = {.len = static_cast<uint16_t>(std::size(rules)), .filter = rules};
  ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

TEST(SharedMemoryCreation, D25_ASystemThatForbidsSharedMemoryIsToldWithAdvice) {
  for (const int error : {EPERM, ENOSYS}) {
    ChildProcess child([&] {
      forbid_shared_memory(static_cast<uint32_t>(error));
      const OwnedStore store = create_memory_store();
      const Status status = error_of_joining(*store, 0, 2, kLong);
      EXPECT_EQ(status.code, Code::kUnsupported) << status.message;
      EXPECT_EQ(status.native_code, error);
      EXPECT_TRUE(says(status, "use the kind \"gloo\"")) << status.message;
    });
    EXPECT_EQ(child.wait(), 0);
  }
}

}  // namespace
}  // namespace halftone
