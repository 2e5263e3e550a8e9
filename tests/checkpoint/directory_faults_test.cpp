// Saves in which a system call fails: P4(b) and the rows S2 to S5 and S13. Every call of a save fails, once alone and
// once with all later calls, with every error that it may return.
#include <fcntl.h>

#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/memory_files.h"
#include "checkpoint/numbered_states.h"

namespace halftone::checkpoint {
namespace {

constexpr const char* kPath = "/run";

// The errors that each call may return in practice.
std::vector<int> errors_of(std::optional<IoCall> call) {
  if (!call) return {EIO};
  switch (*call) {
    case IoCall::kOpen:
      return {EIO, ENOSPC, EMFILE, EACCES, EROFS};
    case IoCall::kWrite:
      return {EIO, ENOSPC, EDQUOT, EFBIG};
    case IoCall::kSync:
    case IoCall::kClose:
      return {EIO, ENOSPC};
    case IoCall::kRename:
      return {EIO, EXDEV, EACCES, EROFS, ENOSPC};
    case IoCall::kMakeDirectory:
      return {EIO, EROFS, ENOSPC, EACCES};
    default:
      return {EIO};
  }
}

class DirectoryFaultsTest : public NumberedStates<RoomTest> {
 protected:
  // Visits every fault that a save of step 3 can meet, beside the checkpoints of steps 1 and 2.
  template <class Check>
  void for_each_fault(std::optional<IoCall> call, Check&& check) {
    for (int error : errors_of(call)) {
      for (bool for_ever : {false, true}) {
        int64_t at = 0;
        while (check(IoFault{.call = call, .at = at, .error = error, .for_ever = for_ever})) ++at;
        if (call != IoCall::kRead && call != IoCall::kSize && call != IoCall::kLock) {
          EXPECT_GT(at, 0) << name(call) << " never failed";
        }
      }
    }
  }

  // Returns false if the save never reached the fault.
  bool survives(const IoFault& fault, bool removes) {
    SCOPED_TRACE(name(fault.call) + " " + std::to_string(fault.at) + " fails with errno " +
                 std::to_string(fault.error) + (fault.for_ever ? " for ever" : " once"));
    MemoryFiles files;
    Directory directory(files.io(), system_clock(), kPath);
    directory.save(1, state(1));
    directory.save(2, state(2));
    const int64_t open_files = files.open_files();
    files.set_fault(fault);
    const bool failed = !saves(directory, 3, fault.error);
    const bool reached = files.has_failed();
    files.set_fault({});
    EXPECT_EQ(files.open_files(), open_files);
    // If nothing could be removed any more, the index may still be on disk, but the object knows that step 3 failed.
    expect_latest(directory, failed ? 2 : 3);
    EXPECT_EQ(directory.steps().back(), failed ? 2 : 3);
    if (failed && removes) {
      EXPECT_FALSE(files.exists("/run/step-3"));
    }
    if (failed) directory.save(3, state(3));
    expect_latest(directory, 3);
    directory.save(4, state(4));
    expect_latest(directory, 4);
    EXPECT_EQ(directory.steps(), (std::vector<int64_t>{3, 4}));
    return reached && !HasFailure();
  }

  bool saves(Directory& directory, int64_t step, int error) {
    try {
      directory.save(step, state(static_cast<double>(step)));
      return true;
    } catch (const Error& thrown) {
      EXPECT_EQ(thrown.code(), Code::kIo);
      EXPECT_EQ(thrown.native_code(), error);
      return false;
    }
  }

  void expect_latest(Directory& directory, int64_t step) {
    const auto loaded = directory.load_latest(device());
    ASSERT_TRUE(loaded);
    expect_state(*loaded, step);
    EXPECT_TRUE(loaded->damaged.empty());
  }

  static std::string name(std::optional<IoCall> call) { return call ? name_of(*call) : "call"; }
};

TEST_F(DirectoryFaultsTest, P4_S2_S5_AFailedSaveLeavesTheCheckpointBeforeItAndNothingElse) {
  for (IoCall call : kEveryIoCall) {
    for_each_fault(call, [&](const IoFault& fault) { return survives(fault, true); });
  }
}

TEST_F(DirectoryFaultsTest, P4_S14_AVanishingDiskLeavesTheCheckpointBeforeItAndTheStepCanBeSavedAgain) {
  for_each_fault({}, [&](const IoFault& fault) { return survives(fault, !fault.for_ever); });
}

// Steps 1 and 2 are saved, and the disk disappears while step 5 is saved. A run may then go back and save step 3.
TEST_F(DirectoryFaultsTest, P4_S14_WhatAFailedSaveLeftHidesNoEarlierStep) {
  int64_t left = 0;
  for (int64_t at = 0;; ++at) {
    SCOPED_TRACE(at);
    MemoryFiles files;
    Directory directory(files.io(), system_clock(), kPath);
    directory.save(1, state(1));
    directory.save(2, state(2));
    files.set_fault(IoFault{.call = {}, .at = at, .error = EIO, .for_ever = true});
    if (saves(directory, 5, EIO)) break;
    EXPECT_FALSE(saves(directory, 3, EIO));
    files.set_fault({});
    left += files.exists("/run/step-5/index.json") ? 1 : 0;
    directory.save(3, state(3));
    EXPECT_FALSE(files.exists("/run/step-5"));
    EXPECT_EQ(directory.steps(), (std::vector<int64_t>{2, 3}));
    expect_latest(directory, 3);
  }
  EXPECT_GT(left, 0) << "no fault left an index";
}

// A checkpoint is damaged after it was loaded, and the save that should replace it fails. The checkpoint before it must
// still be kept beside the next one.
TEST_F(DirectoryFaultsTest, P4_AFailedReplacementOfADamagedCheckpointKeepsTheOneBefore) {
  MemoryFiles files;
  Directory directory(files.io(), system_clock(), kPath);
  directory.save(1, state(1));
  directory.save(2, state(2));
  const Io& io = files.io();
  const int64_t index = io.open(io.user, "/run/step-2/index.json", O_RDWR | O_TRUNC, 0666);
  ASSERT_GE(index, 0);
  ASSERT_EQ(io.close(io.user, index), 0);
  files.set_fault(IoFault{.call = IoCall::kWrite, .at = 0, .error = EIO, .for_ever = false});
  EXPECT_FALSE(saves(directory, 2, EIO));
  files.set_fault({});
  directory.save(3, state(3));
  EXPECT_EQ(directory.steps(), (std::vector<int64_t>{1, 3}));
}

// A new object has verified nothing yet, so it reads the state from the directory.
TEST_F(DirectoryFaultsTest, P4_ASaveThatReportsAFailureHasPublishedNothing) {
  for (IoCall call : kEveryIoCall) {
    for (int64_t at = 0;; ++at) {
      SCOPED_TRACE(std::string(name_of(call)) + " " + std::to_string(at));
      MemoryFiles files;
      Directory(files.io(), system_clock(), kPath).save(1, state(1));
      Directory directory(files.io(), system_clock(), kPath);
      files.set_fault(IoFault{.call = call, .at = at, .error = EIO, .for_ever = false});
      const bool failed = !saves(directory, 2, EIO);
      const bool reached = files.has_failed();
      files.set_fault({});
      expect_latest(directory, failed ? 1 : 2);
      if (!reached || HasFailure()) break;
    }
  }
}

TEST_F(DirectoryFaultsTest, S3_AFileWhoseSyncFailedIsNeitherSyncedAgainNorPublished) {
  for (int64_t at = 0;; ++at) {
    MemoryFiles files;
    Directory directory(files.io(), system_clock(), kPath);
    directory.save(1, state(1));
    files.set_fault(IoFault{.call = IoCall::kSync, .at = at, .error = EIO, .for_ever = false});
    saves(directory, 2, EIO);
    if (!files.has_failed()) break;
    const std::vector<DiskOperation>& journal = files.journal();
    size_t failed = 0;
    while (journal[failed].kind != DiskOperation::kFailedSync) ++failed;
    const size_t node = journal[failed].node;
    if (files.disk().nodes[node].is_directory) continue;
    for (size_t i = failed + 1; i < journal.size(); ++i) {
      const bool is_published = journal[i].kind == DiskOperation::kRename && journal[i].node == node;
      const bool is_synced = journal[i].kind == DiskOperation::kSync && journal[i].node == node;
      EXPECT_FALSE(is_published || is_synced) << "sync " << at;
    }
  }
}

// Some file systems cannot sync a directory and report EINVAL; they have no more durability to offer. Any other error,
// and EINVAL for a file, is a failure.
TEST_F(DirectoryFaultsTest, S18_ADirectoryThatCannotBeSyncedFailsNoSave) {
  MemoryFiles files;
  files.refuse_directory_syncs(EINVAL);
  Directory directory(files.io(), system_clock(), kPath);
  for (int64_t step : {1, 2, 3}) EXPECT_TRUE(saves(directory, step, 0)) << step;
  expect_latest(directory, 3);
  for (int error : {EIO, ENOSPC}) {
    files.refuse_directory_syncs(error);
    EXPECT_FALSE(saves(directory, 4, error));
  }
  files.refuse_directory_syncs(EINVAL);
  files.set_fault(IoFault{.call = IoCall::kSync, .at = 0, .error = EINVAL, .for_ever = false});
  EXPECT_FALSE(saves(directory, 4, EINVAL));
  files.set_fault({});
  EXPECT_TRUE(saves(directory, 4, 0));
  expect_latest(directory, 4);
}

TEST_F(DirectoryFaultsTest, S4_InterruptedCallsAndSingleBytesComplete) {
  MemoryFiles files;
  files.move_single_bytes();
  files.interrupt_every_call();
  Directory directory(files.io(), system_clock(), kPath);
  for (int64_t step : {1, 2, 3}) directory.save(step, state(static_cast<double>(step)));
  expect_latest(directory, 3);
  EXPECT_EQ(directory.steps(), (std::vector<int64_t>{2, 3}));
  EXPECT_FALSE(files.exists("/run/step-1"));
}

TEST_F(DirectoryFaultsTest, S13_AClockThatRunsBackwardsChangesNothing) {
  int64_t now = 1'000'000'000'000;
  const auto earlier = [](void* user) { return *static_cast<int64_t*>(user) -= 3'600'000'000'000; };
  const Clock backwards = {.user = &now, .monotonic_ns = earlier, .wall_ns = earlier};
  MemoryFiles files;
  Directory directory(files.io(), backwards, kPath);
  for (int64_t step : {1, 2, 3}) directory.save(step, state(static_cast<double>(step)));
  EXPECT_EQ(directory.steps(), (std::vector<int64_t>{2, 3}));
  expect_latest(directory, 3);
}

TEST_F(DirectoryFaultsTest, P4_AFailedReadIsReportedAndNoCheckpointIsTakenForDamaged) {
  MemoryFiles files;
  Directory directory(files.io(), system_clock(), kPath);
  directory.save(1, state(1));
  directory.save(2, state(2));
  for (IoCall call : {IoCall::kOpen, IoCall::kRead, IoCall::kSize, IoCall::kList}) {
    for (int64_t at = 0;; ++at) {
      files.set_fault(IoFault{.call = call, .at = at, .error = EIO, .for_ever = false});
      const Code code = code_of([&] { directory.load_latest(device()); });
      const bool reached = files.has_failed();
      files.set_fault({});
      if (!reached) break;
      EXPECT_EQ(code, Code::kIo) << name_of(call) << " " << at;
    }
  }
  expect_latest(directory, 2);
}

}  // namespace
}  // namespace halftone::checkpoint
