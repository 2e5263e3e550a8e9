// Other programs change a checkpoint directory: they add files, links and folders that no save made, move the directory
// away, or delete the lock file. The library must write, truncate or remove only files that a save made.
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/directory.h"
#include "checkpoint/file_fixture.h"
#include "checkpoint/meddled_files.h"
#include "checkpoint/numbered_states.h"
#include "checkpoint/safetensors.h"

namespace halftone::checkpoint {
namespace {

namespace fs = std::filesystem;

class ForeignFilesTest : public NumberedStates<FileTest> {
 protected:
  ForeignFilesTest() { fs::create_directory(path("run")); }

  Directory open() { return Directory(system_io(), system_clock(), path("run")); }
  void save(Directory& directory, int64_t step) { directory.save(step, state(static_cast<double>(step))); }
  // Makes a second directory with complete checkpoints.
  void make_backup(const std::vector<int64_t>& steps) {
    Directory directory(system_io(), system_clock(), path("backup"));
    for (int64_t step : steps) save(directory, step);
  }
  void replace_by_backup() {
    fs::rename(path("run"), path("moved"));
    fs::rename(path("backup"), path("run"));
  }
};

TEST_F(ForeignFilesTest, StepsUpToTheLargestNumberAreFoundAgain) {
  Directory directory = open();
  for (int64_t step : {int64_t{999999999999999999}, int64_t{1000000000000000000}, INT64_MAX}) {
    directory.save(step, state(1));
    EXPECT_EQ(directory.load_latest(device())->step, step);
    EXPECT_EQ(code_of([&] { directory.save(step, state(2)); }), Code::kState);
  }
  EXPECT_EQ(directory.steps(), (std::vector<int64_t>{1000000000000000000, INT64_MAX}));
}

TEST_F(ForeignFilesTest, NamesThatAreNoStepAreNone) {
  Directory directory = open();
  save(directory, 1);
  for (const char* name : {"step-9223372036854775808", "step-99999999999999999999", "step-01", "step-", "step-1x"}) {
    fs::create_directory(path("run") + "/" + name);
    write_file(path("run") + "/" + name + "/index.json", "{}");
  }
  EXPECT_EQ(directory.steps(), std::vector<int64_t>{1});
}

TEST_F(ForeignFilesTest, S15_AFileWithTheNameOfAStepDoesNotStopOldCheckpointsFromBeingRemoved) {
  write_file(path("run/step-1"), "a file");
  Directory directory = open();
  for (int64_t step : {2, 3, 4, 5}) save(directory, step);
  EXPECT_EQ(directory.steps(), (std::vector<int64_t>{4, 5}));
  EXPECT_FALSE(fs::exists(path("run/step-3")));
  EXPECT_EQ(read_file(path("run/step-1")), "a file");
}

TEST_F(ForeignFilesTest, S15_AFileInTheWayOfASaveIsReportedAndStays) {
  write_file(path("run/step-2"), "a file");
  Directory directory = open();
  save(directory, 1);
  EXPECT_EQ(code_of([&] { save(directory, 2); }), Code::kIo);
  EXPECT_EQ(read_file(path("run/step-2")), "a file");
  save(directory, 3);
  expect_state(*directory.load_latest(device()), 3);
}

TEST_F(ForeignFilesTest, S15_AnIndexThatIsNoFileStopsNeitherLoadsNorSaves) {
  const std::function<void(const std::string&)> kinds[] = {
      [](const std::string& index) { fs::create_directories(index + "/inside"); },
      [](const std::string& index) { ASSERT_EQ(mkfifo(index.c_str(), 0666), 0); },
      [](const std::string& index) { fs::create_symlink("index.json", index); },
  };
  for (const auto& make : kinds) {
    fs::remove_all(path("run"));
    Directory directory = open();
    save(directory, 1);
    fs::create_directory(path("run/step-999"));
    make(path("run/step-999/index.json"));
    EXPECT_EQ(directory.steps(), (std::vector<int64_t>{1}));
    expect_state(*directory.load_latest(device()), 1);
    save(directory, 2);
    expect_state(*directory.load_latest(device()), 2);
    EXPECT_EQ(directory.steps(), (std::vector<int64_t>{1, 2}));
  }
}

TEST_F(ForeignFilesTest, S15_AFolderInThePlaceOfAnIndexFailsTheSaveOfItsStepAlone) {
  fs::create_directories(path("run/step-2/index.json/inside"));
  Directory directory = open();
  save(directory, 1);
  EXPECT_EQ(code_of([&] { save(directory, 2); }), Code::kIo);
  save(directory, 3);
  EXPECT_EQ(directory.steps(), (std::vector<int64_t>{1, 3}));
  EXPECT_TRUE(fs::exists(path("run/step-2/index.json/inside")));
}

TEST_F(ForeignFilesTest, S15_AFolderInThePlaceOfTensorsMakesItsCheckpointADamagedOne) {
  Directory directory = open();
  for (int64_t step : {1, 2}) save(directory, step);
  fs::remove(path("run/step-2/rank-0-of-1.safetensors"));
  fs::create_directory(path("run/step-2/rank-0-of-1.safetensors"));
  const auto loaded = directory.load_latest(device());
  expect_state(*loaded, 1);
  EXPECT_EQ(loaded->damaged, (std::vector<int64_t>{2}));
}

TEST_F(ForeignFilesTest, S15_WhatALinkLeadsToIsNeverRemoved) {
  fs::create_directory(path("elsewhere"));
  for (const char* name : {"notes", "index.json", "rank-0-of-1.safetensors"}) {
    write_file(path("elsewhere") + "/" + name, "of another program");
  }
  fs::create_directory_symlink(path("elsewhere"), path("run/step-0"));
  Directory directory = open();
  for (int64_t step : {1, 2, 3}) save(directory, step);
  for (const char* name : {"notes", "index.json", "rank-0-of-1.safetensors"}) {
    EXPECT_EQ(read_file(path("elsewhere") + "/" + name), "of another program") << name;
  }
}

TEST_F(ForeignFilesTest, S15_NothingIsSavedThroughALink) {
  fs::create_directory(path("elsewhere"));
  write_file(path("elsewhere/index.json"), "of another program");
  fs::create_directory_symlink(path("elsewhere"), path("run/step-2"));
  Directory directory = open();
  EXPECT_EQ(code_of([&] { save(directory, 2); }), Code::kIo);
  EXPECT_EQ(read_file(path("elsewhere/index.json")), "of another program");
  EXPECT_FALSE(fs::exists(path("elsewhere/rank-0-of-1.safetensors")));
}

// A file that a failed save could not remove has become a link when the next save tries to remove it.
TEST_F(ForeignFilesTest, S15_WhatAFailedSaveLeftIsNotRemovedThroughALink) {
  MeddledFiles files;
  Directory directory(files.io(), system_clock(), path("run"));
  files.refuse(true, true);
  EXPECT_EQ(code_of([&] { save(directory, 5); }), Code::kIo);
  files.refuse(false, false);
  fs::rename(path("run/step-5"), path("archive"));
  write_file(path("archive/index.json"), "of another program");
  fs::create_directory_symlink(path("archive"), path("run/step-5"));
  save(directory, 6);
  EXPECT_EQ(read_file(path("archive/index.json")), "of another program");
}

TEST_F(ForeignFilesTest, S15_FilesThatNoSaveWroteStayInTheFolderOfAnOldStep) {
  Directory directory = open();
  save(directory, 1);
  write_file(path("run/step-1/notes"), "the best so far");
  write_file(path("run/step-1/rank-1-of-2.safetensors"), "of another rank");
  for (int64_t step : {2, 3, 4}) save(directory, step);
  EXPECT_EQ(read_file(path("run/step-1/notes")), "the best so far");
  EXPECT_FALSE(fs::exists(path("run/step-1/index.json")));
  EXPECT_FALSE(fs::exists(path("run/step-1/rank-1-of-2.safetensors")));
  EXPECT_EQ(directory.steps(), (std::vector<int64_t>{3, 4}));
}

TEST_F(ForeignFilesTest, S15_ALinkInThePlaceOfTheLockFileIsRefused) {
  write_file(path("precious"), "of another program");
  fs::create_symlink(path("precious"), path("run/.lock"));
  EXPECT_EQ(code_of([&] { open(); }), Code::kIo);
  EXPECT_EQ(read_file(path("precious")), "of another program");
}

TEST_F(ForeignFilesTest, S15_NothingIsWrittenThroughALinkInThePlaceOfATemporaryFile) {
  write_file(path("precious"), "of another program");
  fs::create_symlink(path("precious"), path("file.tmp"));
  save_safetensors(system_io(), path("file"), state(1), {});
  fs::create_directory(path("run/step-1"));
  fs::create_symlink(path("precious"), path("run/step-1/index.json.tmp"));
  Directory directory = open();
  save(directory, 1);  // first removes leftover files of an earlier save
  expect_state(*directory.load_latest(device()), 1);
  EXPECT_FALSE(fs::is_symlink(path("file")));
  EXPECT_TRUE(fs::is_symlink(path("file.tmp")));
  EXPECT_EQ(read_file(path("precious")), "of another program");
}

// After a failed save that left no files, its step is treated like any other.
TEST_F(ForeignFilesTest, S15_ACheckpointThatIsPutInThePlaceOfAFailedSaveCounts) {
  make_backup({5});
  MeddledFiles files;
  Directory directory(files.io(), system_clock(), path("run"));
  save(directory, 4);
  files.refuse(true, false);
  EXPECT_EQ(code_of([&] { save(directory, 5); }), Code::kIo);
  files.refuse(false, false);
  fs::copy(path("backup/step-5"), path("run/step-5"), fs::copy_options::recursive);
  EXPECT_EQ(directory.load_latest(device())->step, 5);
  save(directory, 6);
  EXPECT_EQ(directory.steps(), (std::vector<int64_t>{5, 6}));
}

TEST_F(ForeignFilesTest, S15_WhatAFailedSaveLeftInADirectoryIsNotRemovedFromTheOneThatReplacesIt) {
  make_backup({5});
  MeddledFiles files;
  Directory directory(files.io(), system_clock(), path("run"));
  files.refuse(true, true);
  EXPECT_EQ(code_of([&] { save(directory, 5); }), Code::kIo);
  files.refuse(false, false);
  replace_by_backup();
  save(directory, 6);
  EXPECT_EQ(directory.steps(), (std::vector<int64_t>{5, 6}));
}

TEST_F(ForeignFilesTest, S15_TheNewestCheckpointOfADirectoryThatReplacesAnotherIsKept) {
  make_backup({20, 25});
  Directory directory = open();
  for (int64_t step : {10, 20}) save(directory, step);
  replace_by_backup();
  save(directory, 30);
  EXPECT_EQ(directory.steps(), (std::vector<int64_t>{25, 30}));
}

TEST_F(ForeignFilesTest, S15_WhereTheNewestCheckpointIsGoneTheOneBeforeItIsKept) {
  Directory directory = open();
  for (int64_t step : {1, 2}) save(directory, step);
  fs::remove_all(path("run/step-2"));
  save(directory, 3);
  EXPECT_EQ(directory.steps(), (std::vector<int64_t>{1, 3}));
}

TEST_F(ForeignFilesTest, S8_ADirectoryThatAnotherWriterPutInPlaceIsLeftToIt) {
  Directory first = open();
  save(first, 1);
  fs::rename(path("run"), path("moved"));
  Directory second = open();
  save(second, 7);
  EXPECT_EQ(code_of([&] { save(first, 8); }), Code::kState);
  EXPECT_EQ(second.steps(), (std::vector<int64_t>{7}));
  EXPECT_TRUE(fs::exists(path("moved/step-1/index.json")));
}

TEST_F(ForeignFilesTest, S8_ADirectoryOrALockFileThatNobodyElseHasIsLockedAnew) {
  Directory first = open();
  fs::rename(path("run"), path("moved"));
  fs::create_directory(path("run"));
  save(first, 1);
  EXPECT_EQ(code_of([&] { open(); }), Code::kState);
  fs::remove(path("run/.lock"));
  save(first, 2);
  EXPECT_EQ(code_of([&] { open(); }), Code::kState);
  expect_state(*first.load_latest(device()), 2);
}

TEST_F(ForeignFilesTest, S8_AMovedDirectoryMayBeMovedBack) {
  Directory first = open();
  fs::rename(path("run"), path("moved"));
  {
    Directory second = open();
    EXPECT_EQ(code_of([&] { save(first, 1); }), Code::kState);
  }
  fs::remove_all(path("run"));
  fs::rename(path("moved"), path("run"));
  save(first, 1);
  expect_state(*first.load_latest(device()), 1);
}

// Errors in a directory of checkpoints that can only be read: it is another user's, or its file system is read-only or
// full.
constexpr int kLockErrors[] = {EACCES, EPERM, EROFS, ENOSPC, EDQUOT};

TEST_F(ForeignFilesTest, S17_ADirectoryThatMayOnlyBeReadIsLoaded) {
  {
    Directory directory = open();
    save(directory, 1);
  }
  for (int error : kLockErrors) {
    MeddledFiles files;
    files.refuse_locks(error);
    Directory directory(files.io(), system_clock(), path("run"));
    expect_state(*directory.load_latest(device()), 1);
    directory.verify(1);
    try {
      save(directory, 2);
      ADD_FAILURE() << "saved without a lock";
    } catch (const Error& refused) {
      EXPECT_EQ(refused.code(), Code::kIo);
      EXPECT_EQ(refused.native_code(), error);
    }
    EXPECT_EQ(directory.steps(), std::vector<int64_t>{1});
  }
}

// A writer is not disturbed by an object without the lock. Its first save takes the lock, once that is possible.
TEST_F(ForeignFilesTest, S17_ADirectoryThatIsOpenForReadingKeepsNoWriterOut) {
  {
    Directory directory = open();
    save(directory, 1);
  }
  MeddledFiles files;
  files.refuse_locks(EACCES);
  Directory reader(files.io(), system_clock(), path("run"));
  {
    Directory writer = open();
    save(writer, 2);
    expect_state(*reader.load_latest(device()), 2);
    files.refuse_locks(0);
    EXPECT_EQ(code_of([&] { save(reader, 3); }), Code::kState);
  }
  save(reader, 3);
  EXPECT_EQ(code_of([&] { open(); }), Code::kState);
  expect_state(*reader.load_latest(device()), 3);
}

// There is nothing to load, so the directory is opened to be written to.
TEST_F(ForeignFilesTest, S17_AnEmptyDirectoryThatMayNotBeWrittenIsRefused) {
  MeddledFiles files;
  for (int error : kLockErrors) {
    files.refuse_locks(error);
    EXPECT_EQ(code_of([&] { Directory(files.io(), system_clock(), path("run")); }), Code::kIo) << error;
  }
  for (int error : {EIO, EMFILE, ELOOP}) {
    {
      Directory directory = open();
      if (directory.steps().empty()) save(directory, 1);
    }
    files.refuse_locks(error);
    EXPECT_EQ(code_of([&] { Directory(files.io(), system_clock(), path("run")); }), Code::kIo) << error;
  }
}

}  // namespace
}  // namespace halftone::checkpoint
