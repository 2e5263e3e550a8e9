// System calls fail while a safetensors file replaces another: P4(b), S2, S4, S5.
#include <algorithm>
#include <cerrno>
#include <string>

#include "checkpoint/memory_files.h"
#include "checkpoint/numbered_states.h"
#include "checkpoint/safetensors.h"

namespace halftone::checkpoint {
namespace {

class SafetensorsFaultsTest : public NumberedStates<RoomTest> {
 protected:
  // Returns false if the save never reached the fault.
  bool survives(const IoFault& fault) {
    SCOPED_TRACE(std::string(name_of(*fault.call)) + " " + std::to_string(fault.at) + " fails");
    MemoryFiles files;
    save_safetensors(files.io(), "/file", state(1), {});
    files.set_fault(fault);
    const bool failed = !saves(files, fault.error);
    const bool reached = files.has_failed();
    files.set_fault({});
    // After the rename, only the sync of the directory can still fail.
    const bool is_renamed = renames(files) == 2;
    EXPECT_TRUE(failed || is_renamed);
    expect_state(SafetensorsFile(files.io(), "/file").read_all(device()), is_renamed ? 2 : 1);
    EXPECT_EQ(files.disk().nodes[0].entries.size(), 1u) << files.disk().listing();
    EXPECT_EQ(files.open_files(), 0);
    save_safetensors(files.io(), "/file", state(3), {});
    expect_state(SafetensorsFile(files.io(), "/file").read_all(device()), 3);
    return reached && !HasFailure();
  }

  bool saves(MemoryFiles& files, int error) {
    try {
      save_safetensors(files.io(), "/file", state(2), {});
      return true;
    } catch (const Error& thrown) {
      EXPECT_EQ(thrown.code(), Code::kIo);
      EXPECT_EQ(thrown.native_code(), error);
      return false;
    }
  }

  static int64_t renames(const MemoryFiles& files) {
    return std::count_if(files.journal().begin(), files.journal().end(),
                         [](const DiskOperation& done) { return done.kind == DiskOperation::kRename; });
  }

  // A single file has no scalars.
  void expect_state(const StateDict& loaded, int64_t step) {
    EXPECT_EQ(values(loaded.find("weight")->tensor)[0], static_cast<double>(step));
    EXPECT_EQ(values(loaded.find("half")->tensor)[0], static_cast<double>(step));
  }
};

TEST_F(SafetensorsFaultsTest, P4_S2_S5_AFailedSaveLeavesTheOldFileAndNothingElse) {
  for (IoCall call : {IoCall::kOpen, IoCall::kWrite, IoCall::kSync, IoCall::kClose, IoCall::kRename}) {
    for (int error : {EIO, ENOSPC, EROFS}) {
      for (bool for_ever : {false, true}) {
        int64_t at = 0;
        while (survives({.call = call, .at = at, .error = error, .for_ever = for_ever})) ++at;
        EXPECT_GT(at, 0) << name_of(call) << " never failed";
      }
    }
  }
}

TEST_F(SafetensorsFaultsTest, S18_ADirectoryThatCannotBeSyncedFailsNoSave) {
  MemoryFiles files;
  save_safetensors(files.io(), "/file", state(1), {});
  files.refuse_directory_syncs(EINVAL);
  EXPECT_TRUE(saves(files, 0));
  expect_state(SafetensorsFile(files.io(), "/file").read_all(device()), 2);
  files.refuse_directory_syncs(EIO);
  EXPECT_FALSE(saves(files, EIO));
}

TEST_F(SafetensorsFaultsTest, S4_InterruptedCallsAndSingleBytesComplete) {
  MemoryFiles files;
  files.move_single_bytes();
  files.interrupt_every_call();
  save_safetensors(files.io(), "/file", state(4), {});
  expect_state(SafetensorsFile(files.io(), "/file").read_all(device()), 4);
}

}  // namespace
}  // namespace halftone::checkpoint
