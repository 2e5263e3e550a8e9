// Complete safetensors files: reading returns the written data, and a failed write changes nothing.
#include "checkpoint/safetensors.h"

#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "checkpoint/file_fixture.h"
#include "checkpoint/meddled_files.h"

namespace halftone::checkpoint {
namespace {

constexpr DType kEveryDtype[] = {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kF8E5M2,
                                 DType::kI64, DType::kI32, DType::kI16, DType::kI8,   DType::kU8,     DType::kBool};

class SafetensorsTest : public FileTest {
 protected:
  void save(const StateDict& state) { save_safetensors(system_io(), path("file"), state, {}); }
  StateDict load() { return SafetensorsFile(system_io(), path("file")).read_all(device()); }
  StateDict one_tensor(double value) {
    StateDict state;
    state.add("a", tensor({1}, {value}));
    return state;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder())) names.push_back(entry.path().filename());
    return names;
  }
};

TEST_F(SafetensorsTest, KeepsEveryDtype) {
  StateDict state;
  for (DType dtype : kEveryDtype) state.add(name_of(dtype), tensor({2, 2}, {0, 1, 1, 0}, dtype));
  save(state);
  const StateDict loaded = load();
  ASSERT_EQ(loaded.tensors().size(), std::size(kEveryDtype));
  for (DType dtype : kEveryDtype) {
    const StateTensor* entry = loaded.find(name_of(dtype));
    ASSERT_NE(entry, nullptr) << name_of(dtype);
    EXPECT_EQ(entry->tensor.dtype(), dtype);
    EXPECT_EQ(entry->tensor.shape(), (Shape{2, 2}));
    EXPECT_EQ(values(entry->tensor), (std::vector<double>{0, 1, 1, 0})) << name_of(dtype);
  }
}

TEST_F(SafetensorsTest, AlignsEveryTensorToItsElements) {
  StateDict state;
  state.add("bytes", tensor({3}, {1, 2, 3}, DType::kU8));
  state.add("doubles", tensor({1}, {4}, DType::kF64));
  state.add("halves", tensor({1}, {5}, DType::kF16));
  save(state);
  const SafetensorsFile file(system_io(), path("file"));
  EXPECT_EQ(file.header().data_begin % 8, 0u);
  for (const TensorEntry& entry : file.header().tensors)
    EXPECT_EQ(entry.begin % size_of(entry.dtype), 0u) << entry.name;
}

TEST_F(SafetensorsTest, WritesStridedTensorsInRowMajorOrder) {
  StateDict state;
  state.add("turned", tensor({2, 3}, {1, 2, 3, 4, 5, 6}).as_strided({3, 2}, {1, 3}, 0));
  save(state);
  EXPECT_EQ(values(load().find("turned")->tensor), (std::vector<double>{1, 4, 2, 5, 3, 6}));
}

TEST_F(SafetensorsTest, F16_LoadsWhatIsNotFinite) {
  StateDict state;
  state.add("odd", tensor({3}, {INFINITY, -INFINITY, NAN}));
  save(state);
  const std::vector<double> loaded = values(load().find("odd")->tensor);
  EXPECT_EQ(loaded[0], INFINITY);
  EXPECT_EQ(loaded[1], -INFINITY);
  EXPECT_TRUE(std::isnan(loaded[2]));
}

TEST_F(SafetensorsTest, RefusesABoolThatIsNone) {
  StateDict state;
  state.add("flags", tensor({4}, {0, 1, 1, 0}, DType::kBool));
  save(state);
  std::string bytes = read_file(path("file"));
  bytes.back() = 2;
  write_file(path("file"), bytes);
  EXPECT_EQ(code_of([&] { load(); }), Code::kFormat);
}

TEST_F(SafetensorsTest, F26_ReplacesTheFileThatItWasLoadedFrom) {
  StateDict state;
  state.add("a", tensor({2}, {1, 2}));
  save(state);
  const SafetensorsFile old_file(system_io(), path("file"));
  StateDict loaded = load();
  fill(loaded.find("a")->tensor, 3);
  save(loaded);
  EXPECT_EQ(values(load().find("a")->tensor), (std::vector<double>{3, 3}));
  const Tensor old = empty(device(), DType::kF32, {2});
  old_file.read(*old_file.header().find("a"), old);
  EXPECT_EQ(values(old), (std::vector<double>{1, 2}));
}

// The format reserves this name for metadata.
TEST_F(SafetensorsTest, F13_ATensorWithTheNameOfTheMetadataIsRefusedAndTheOldFileStays) {
  StateDict state;
  state.add("a", tensor({2}, {1, 2}));
  save(state);
  state.add("__metadata__", tensor({1}, {3}));
  try {
    save(state);
    ADD_FAILURE() << "it was saved";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFormat);
    EXPECT_NE(std::string(error.what()).find("__metadata__"), std::string::npos) << error.what();
  }
  EXPECT_EQ(values(load().find("a")->tensor), (std::vector<double>{1, 2}));
}

TEST_F(SafetensorsTest, F19_ReportsAFileThatShrankWhileItWasOpen) {
  StateDict state;
  state.add("a", tensor({2}, {1, 2}));
  save(state);
  const SafetensorsFile file(system_io(), path("file"));
  std::filesystem::resize_file(path("file"), file.size() - 1);
  const Tensor target = empty(device(), DType::kF32, {2});
  EXPECT_EQ(code_of([&] { file.read(*file.header().find("a"), target); }), Code::kFormat);
}

TEST_F(SafetensorsTest, S5_LeavesTheOldFileWhereTheNewOneCannotTakeItsPlace) {
  StateDict state;
  state.add("a", tensor({2}, {1, 2}));
  std::filesystem::create_directory(path("file"));
  write_file(path("file/inside"), "x");
  EXPECT_EQ(code_of([&] { save(state); }), Code::kIo);
  EXPECT_TRUE(std::filesystem::exists(path("file/inside")));
  EXPECT_EQ(names(), (std::vector<std::string>{"file"}));
}

TEST_F(SafetensorsTest, S15_AFileWhoseNameATemporaryFileMightHaveStays) {
  write_file(path("file.tmp"), "of another program");
  save(one_tensor(1));
  EXPECT_EQ(values(load().find("a")->tensor), (std::vector<double>{1}));
  EXPECT_EQ(read_file(path("file.tmp")), "of another program");
}

TEST_F(SafetensorsTest, S15_WhatTakesTheNameOfTheTemporaryFileStays) {
  write_file(path("precious"), "of another program");
  MeddledFiles files;
  std::string taken;
  files.before_create([&](const std::string& temporary) {
    taken = temporary;
    std::filesystem::create_symlink(path("precious"), temporary);
  });
  save_safetensors(files.io(), path("file"), one_tensor(1), {});
  EXPECT_EQ(values(load().find("a")->tensor), (std::vector<double>{1}));
  EXPECT_TRUE(std::filesystem::is_symlink(taken));
  EXPECT_EQ(read_file(path("precious")), "of another program");
}

// Another save to the same path begins, and succeeds or fails, right before this one renames its file.
TEST_F(SafetensorsTest, S8_ASaveToAPathDoesNotHarmAnotherToTheSame) {
  for (bool fails : {false, true}) {
    MeddledFiles first, second;
    second.refuse(fails, false);
    first.before_rename([&](const std::string&) {
      const Code code = code_of([&] { save_safetensors(second.io(), path("file"), one_tensor(2), {}); });
      EXPECT_EQ(code, fails ? Code::kIo : Code::kOk);
    });
    EXPECT_EQ(code_of([&] { save_safetensors(first.io(), path("file"), one_tensor(1), {}); }), Code::kOk);
    EXPECT_EQ(values(load().find("a")->tensor), (std::vector<double>{1}));
    EXPECT_EQ(names(), (std::vector<std::string>{"file"}));
    std::filesystem::remove(path("file"));
  }
}

// The bits for owner, group and others.
mode_t mode_of(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

// Sets the process's mask for new files while it lives.
class FileMask {
 public:
  explicit FileMask(mode_t mask) : saved_(umask(mask)) {}
  FileMask(const FileMask&) = delete;
  FileMask& operator=(const FileMask&) = delete;
  ~FileMask() { umask(saved_); }

 private:
  mode_t saved_;
};

TEST_F(SafetensorsTest, S16_AReplacedFileKeepsItsMode) {
  for (mode_t mask : {022, 077, 0}) {
    const FileMask mine(mask);
    save(one_tensor(1));
    EXPECT_EQ(mode_of(path("file")), 0666 & ~mask);
    for (mode_t mode : {0600, 0640, 0644, 0666, 0400, 0755}) {
      ASSERT_EQ(chmod(path("file").c_str(), mode), 0);
      save(one_tensor(2));
      EXPECT_EQ(mode_of(path("file")), mode);
    }
    std::filesystem::remove(path("file"));
  }
}

// /dev/null is such a file of a program with all rights.
TEST_F(SafetensorsTest, S19_AFileThatIsNoRegularOneIsNotReplaced) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  std::filesystem::create_symlink("fifo", path("link"));
  std::filesystem::create_directory(path("folder"));
  for (const char* name : {"fifo", "link", "folder"}) {
    EXPECT_EQ(code_of([&] { save_safetensors(system_io(), path(name), one_tensor(1), {}); }), Code::kIo) << name;
  }
  EXPECT_TRUE(std::filesystem::is_fifo(std::filesystem::symlink_status(path("fifo"))));
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(names().size(), 3u);
}

// No other user can open what the owner alone may read, not even while it is written.
TEST_F(SafetensorsTest, S16_TheTemporaryFileIsNoMoreOpenThanTheOneItReplaces) {
  const FileMask mine(0);
  save(one_tensor(1));
  ASSERT_EQ(chmod(path("file").c_str(), 0600), 0);
  int64_t creations = 0;
  MeddledFiles files;
  files.after_create([&](const std::string& created) {
    ++creations;
    EXPECT_EQ(mode_of(created), 0600u);
  });
  save_safetensors(files.io(), path("file"), one_tensor(2), {});
  EXPECT_EQ(creations, 1);
  EXPECT_EQ(mode_of(path("file")), 0600u);
}

// A link is replaced, and what it led to may have been closed to others.
TEST_F(SafetensorsTest, S16_AReplacedLinkGetsTheModeOfItsFile) {
  const FileMask mine(022);
  write_file(path("private"), "of the owner alone");
  ASSERT_EQ(chmod(path("private").c_str(), 0600), 0);
  std::filesystem::create_symlink(path("private"), path("file"));
  save(one_tensor(1));
  EXPECT_EQ(mode_of(path("file")), 0600u);
  EXPECT_FALSE(std::filesystem::is_symlink(path("file")));
  EXPECT_EQ(read_file(path("private")), "of the owner alone");
}

gid_t group_of(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(stat(path.c_str(), &status), 0);
  return status.st_gid;
}

constexpr uid_t kNobody = 65534;

TEST_F(SafetensorsTest, S16_AReplacedFileKeepsItsGroup) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file to any group";
  save(one_tensor(1));
  ASSERT_EQ(chown(path("file").c_str(), static_cast<uid_t>(-1), kNobody), 0);
  ASSERT_EQ(chmod(path("file").c_str(), 0640), 0);
  save(one_tensor(2));
  EXPECT_EQ(group_of(path("file")), kNobody);
  EXPECT_EQ(mode_of(path("file")), 0640u);
}

// Else the group of the process that saves would get the rights of the old one.
TEST_F(SafetensorsTest, S16_AGroupThatCannotBeKeptKeepsNoRightsOfItsOwn) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  save(one_tensor(1));
  ASSERT_EQ(chmod(folder().c_str(), 0777), 0);
  ASSERT_EQ(chown(path("file").c_str(), kNobody, 0), 0);
  ASSERT_EQ(chmod(path("file").c_str(), 0664), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (setgroups(0, nullptr) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(2);
    _exit(code_of([&] { save(one_tensor(2)); }) == Code::kOk ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(group_of(path("file")), kNobody);
  EXPECT_EQ(mode_of(path("file")), 0644u);
}

}  // namespace
}  // namespace halftone::checkpoint
