// Saves of several ranks in which a call of one rank to its disk fails.
#include <cerrno>

#include "sharded_ranks.h"
#include "temporary_folder.h"

namespace halftone::resume {
namespace {

constexpr int kRanks = 3;

// Call number `failing` of a thread fails, counted from 0; none if it is below 0.
thread_local int64_t failing = -1;
thread_local int64_t calls = 0;

bool fails() { return calls++ == failing; }

// The system's files.
Io failing_io() {
  Io io = system_io();
  io.open = [](void*, const char* path, int32_t flags, uint32_t mode) -> int64_t {
    return fails() ? -EIO : system_io().open(nullptr, path, flags, mode);
  };
  io.close = [](void*, int64_t file) -> int64_t {
    const int64_t result = system_io().close(nullptr, file);
    return fails() ? -EIO : result;
  };
  io.write = [](void*, int64_t file, uint64_t offset, const void* buffer, size_t size) -> int64_t {
    return fails() ? -ENOSPC : system_io().write(nullptr, file, offset, buffer, size);
  };
  io.sync = [](void*, int64_t file) -> int64_t { return fails() ? -EIO : system_io().sync(nullptr, file); };
  io.rename = [](void*, const char* from, const char* to) -> int64_t {
    return fails() ? -EIO : system_io().rename(nullptr, from, to);
  };
  io.make_directory = [](void*, const char* path, uint32_t mode) -> int64_t {
    return fails() ? -EIO : system_io().make_directory(nullptr, path, mode);
  };
  io.list = [](void*, const char* path, int64_t (*take)(void*, const char*), void* taker) -> int64_t {
    return fails() ? -EIO : system_io().list(nullptr, path, take, taker);
  };
  return io;
}

struct Outcome {
  Code code = Code::kOk;
  std::string message;
};

Outcome outcome_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {};
}

// Saves step 2 while a call of rank `victim` fails. Returns false if the save has no such call.
bool save_with_fault(int64_t victim, int64_t at, int64_t* failures) {
  const TemporaryFolder folder;
  std::vector<Outcome> outcomes(kRanks);
  bool is_reached = false;
  run_group(
      kRanks,
      [&](const ShardedRank& rank) {
        const NumberedRun run(rank, folder.path("run"));
        run.save(1);
        meet(rank);
        calls = 0;
        failing = rank.rank() == victim ? at : -1;
        Outcome& outcome = outcomes[static_cast<size_t>(rank.rank())];
        outcome = outcome_of([&] { run.save(2); });
        if (rank.rank() == victim) is_reached = calls > at;
        failing = -1;
        const bool has_failed = outcome.code != Code::kOk;
        EXPECT_EQ(run.load(), has_failed ? 1 : 2);
        if (has_failed) run.save(2);
        EXPECT_EQ(run.load(), 2);
      },
      failing_io());
  const Outcome& first = outcomes[static_cast<size_t>(victim)];
  *failures += first.code != Code::kOk;
  for (int64_t rank = 0; rank < kRanks; ++rank) {
    const Outcome& outcome = outcomes[static_cast<size_t>(rank)];
    EXPECT_EQ(outcome.code, first.code) << outcome.message;
    if (rank == victim || first.code == Code::kOk) continue;
    EXPECT_EQ(outcome.message, "rank " + std::to_string(victim) + ": " + first.message);
  }
  EXPECT_TRUE(first.code == Code::kOk || first.code == Code::kIo) << first.message;
  return is_reached;
}

// Rank 0 makes the folder, writes its file and publishes the index; the others write their files.
TEST(SharedSaveFaults, P4_S2_S5_S9_AFailureOfAnyRankIsOneOfAllAndLeavesTheCheckpointBefore) {
  for (int64_t victim = 0; victim < kRanks; ++victim) {
    int64_t failures = 0;
    for (int64_t at = 0; !testing::Test::HasFailure(); ++at) {
      SCOPED_TRACE("call " + std::to_string(at) + " of rank " + std::to_string(victim));
      if (!save_with_fault(victim, at, &failures)) break;
    }
    EXPECT_GE(failures, victim == 0 ? 20 : 10);
  }
}

}  // namespace
}  // namespace halftone::resume
