// Checkpoints in a directory: which are kept, which is loaded, refusals.
#include "checkpoint/directory.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_files.h"
#include "checkpoint/checksum.h"
#include "checkpoint/file_fixture.h"
#include "checkpoint/numbered_states.h"
#include "tensor/staged_load.h"

namespace halftone::checkpoint {
namespace {

class DirectoryTest : public NumberedStates<FileTest> {
 protected:
  Directory open() { return Directory(system_io(), system_clock(), path("run")); }

  std::string tensors_of(int64_t step) const {
    return path("run/step-" + std::to_string(step) + "/rank-0-of-1.safetensors");
  }
  std::string index_of(int64_t step) const { return path("run/step-" + std::to_string(step) + "/index.json"); }
  static void flip_bit(const std::string& path, size_t bit) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(bit / 8));
    const int byte = file.get() ^ 1 << bit % 8;
    file.seekp(static_cast<std::streamoff>(bit / 8));
    file.put(static_cast<char>(byte));
  }
};

TEST_F(DirectoryTest, LoadsWhatWasSaved) {
  open().save(7, state(7));
  Directory directory = open();
  const auto loaded = directory.load_latest(device());
  ASSERT_TRUE(loaded);
  expect_state(*loaded, 7);
  EXPECT_TRUE(loaded->damaged.empty());
}

TEST_F(DirectoryTest, HasNothingToLoadWhereNothingWasSaved) {
  EXPECT_FALSE(open().load_latest(device()));
  EXPECT_TRUE(open().steps().empty());
}

TEST_F(DirectoryTest, KeepsTheTwoNewest) {
  Directory directory = open();
  for (int64_t step : {1, 2, 9, 10}) directory.save(step, state(static_cast<double>(step)));
  EXPECT_EQ(directory.steps(), (std::vector<int64_t>{9, 10}));
  EXPECT_FALSE(std::filesystem::exists(path("run/step-2")));
}

TEST_F(DirectoryTest, S13_OrdersBySteps) {
  Directory directory = open();
  directory.save(9, state(9));
  directory.save(10, state(10));
  std::filesystem::last_write_time(path("run/step-9"), std::filesystem::file_time_type::max());
  EXPECT_EQ(directory.load_latest(device())->step, 10);
  directory.save(11, state(11));
  EXPECT_EQ(directory.steps(), (std::vector<int64_t>{10, 11}));
}

TEST_F(DirectoryTest, LeavesNoTemporaryFile) {
  open().save(1, state(1));
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path("run"))) {
    if (entry.is_regular_file()) names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{".lock", "index.json", "rank-0-of-1.safetensors"}));
}

TEST_F(DirectoryTest, FallsBackToTheCheckpointBeforeADamagedOne) {
  Directory directory = open();
  directory.save(1, state(1));
  directory.save(2, state(2));
  flip_bit(tensors_of(2), read_file(tensors_of(2)).size() * 8 - 1);
  const auto loaded = directory.load_latest(device());
  expect_state(*loaded, 1);
  EXPECT_EQ(loaded->damaged, (std::vector<int64_t>{2}));
}

TEST_F(DirectoryTest, ReplacesADamagedCheckpointAndKeepsTheWholeOneBeforeIt) {
  Directory directory = open();
  directory.save(1, state(1));
  directory.save(2, state(2));
  flip_bit(index_of(2), 100);
  EXPECT_EQ(directory.load_latest(device())->step, 1);
  directory.save(2, state(2));
  EXPECT_EQ(directory.steps(), (std::vector<int64_t>{1, 2}));
  expect_state(*directory.load_latest(device()), 2);
}

TEST_F(DirectoryTest, NeverReplacesAWholeCheckpointNorHidesBehindALaterOne) {
  Directory directory = open();
  directory.save(5, state(5));
  EXPECT_EQ(code_of([&] { directory.save(5, state(6)); }), Code::kState);
  EXPECT_EQ(code_of([&] { directory.save(4, state(6)); }), Code::kState);
  expect_state(*directory.load_latest(device()), 5);
}

TEST_F(DirectoryTest, ClearsAwayWhatACrashLeft) {
  open().save(3, state(3));
  std::filesystem::create_directory(path("run/step-4"));
  write_file(tensors_of(4), "half a file");
  Directory directory = open();
  EXPECT_EQ(directory.load_latest(device())->step, 3);
  directory.save(4, state(4));
  expect_state(*directory.load_latest(device()), 4);
}

TEST_F(DirectoryTest, F17_FindsEveryFlippedBit) {
  Directory directory = open();
  directory.save(1, state(1));
  for (const std::string& file : {tensors_of(1), index_of(1)}) {
    const size_t bits = std::filesystem::file_size(file) * 8;
    for (size_t bit = 0; bit < bits; ++bit) {
      flip_bit(file, bit);
      ASSERT_EQ(code_of([&] { directory.load_latest(device()); }), Code::kFormat) << file << " bit " << bit;
      flip_bit(file, bit);
    }
  }
  expect_state(*directory.load_latest(device()), 1);
}

TEST_F(DirectoryTest, FindsEveryTruncationAndEveryByteTooMuch) {
  Directory directory = open();
  directory.save(1, state(1));
  const auto load = [&] { directory.load_latest(device()); };
  for (const std::string& file : {tensors_of(1), index_of(1)}) {
    const std::string bytes = read_file(file);
    write_file(file, bytes + "x");
    EXPECT_EQ(code_of(load), Code::kFormat);
    for (size_t size = bytes.size(); size-- > 0;) {
      std::filesystem::resize_file(file, size);
      ASSERT_EQ(code_of(load), Code::kFormat) << file << " of " << size;
    }
    write_file(file, bytes);
  }
  expect_state(*directory.load_latest(device()), 1);
}

TEST_F(DirectoryTest, F18_RefusesAMissingFileAndAFileOfAnotherSave) {
  Directory directory = open();
  directory.save(1, state(1));
  directory.save(2, state(1));  // equal numbers, so only the save id distinguishes the files
  const std::string second = read_file(tensors_of(2));
  std::filesystem::copy_file(tensors_of(1), tensors_of(2), std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(code_of([&] { directory.verify(2); }), Code::kFormat);
  std::filesystem::remove(tensors_of(2));
  EXPECT_EQ(code_of([&] { directory.verify(2); }), Code::kFormat);
  write_file(tensors_of(2), second);
  EXPECT_EQ(code_of([&] { directory.verify(2); }), Code::kOk);
}

TEST_F(DirectoryTest, RefusesACheckpointUnderAnotherStepsName) {
  open().save(1, state(1));
  std::filesystem::rename(path("run/step-1"), path("run/step-2"));
  EXPECT_EQ(code_of([&] { open().load_latest(device()); }), Code::kFormat);
}

TEST_F(DirectoryTest, S8_AllowsOneWriterAtATime) {
  const Directory first = open();
  EXPECT_EQ(code_of([&] { open(); }), Code::kState);
}

TEST_F(DirectoryTest, F23_RefusesANewerFormatInsteadOfFallingBack) {
  Directory directory = open();
  directory.save(1, state(1));
  directory.save(2, state(2));
  std::string text = read_file(index_of(2));
  const std::string version = "\"version\":1";
  text.replace(text.find(version), version.size(), "\"version\":3");
  const size_t length = text.rfind(",\"checksum\"");
  text = text.substr(0, length) + ",\"checksum\":\"" + checksum_of_text(text.data(), length) + "\"}";
  write_file(index_of(2), text);
  EXPECT_EQ(code_of([&] { directory.load_latest(device()); }), Code::kUnsupported);
}

TEST_F(DirectoryTest, F24_JoinsTheRangesThatTwoRanksWrote) {
  const std::string step = path("run/step-3");
  open();
  std::filesystem::create_directory(step);
  Index index{.step = 3, .save_id = "id", .files = {}, .tensors = {}, .scalars = {}};
  IndexTensor joined{.name = "weight", .dtype = DType::kF32, .shape = {2, 3}, .parts = {}};
  for (int64_t rank = 0; rank < 2; ++rank) {
    const auto first = static_cast<double>(rank * 3);
    StateDict part;
    part.add_range("weight", tensor({3}, {first, first + 1, first + 2}), {2, 3}, rank * 3);
    const std::string name = file_name(rank, 2);
    File file = File::create(system_io(), step + "/" + name);
    const WrittenFile written = write_safetensors(file, part, {{"save_id", "id"}});
    index.files.push_back({name, written.size, written.header_checksum});
    joined.parts.push_back({static_cast<size_t>(rank), rank * 3, rank * 3 + 3, written.tensor_checksums[0]});
  }
  index.tensors.push_back(joined);
  write_index(system_io(), step, index);
  EXPECT_EQ(values(in_memory(*open().load_latest(device())->state.find("weight"))),
            (std::vector<double>{0, 1, 2, 3, 4, 5}));

  index.tensors[0].parts[1].begin = 2;  // overlaps the first
  write_index(system_io(), step, index);
  EXPECT_EQ(code_of([&] { open().load_latest(device()); }), Code::kFormat);
}

// Another process may remove the checkpoint while its tensors are read: the files stay open.
TEST_F(DirectoryTest, ALoadedStateCanBeReadAfterItsFilesWereRemoved) {
  open().save(1, state(1));
  const auto loaded = open().load_latest(device());
  std::filesystem::remove_all(path("run"));
  expect_state(*loaded, 1);
}

TEST_F(DirectoryTest, ABoolThatIsNeither0Nor1IsFoundBeforeAnythingIsLoaded) {
  Directory directory = open();
  directory.save(1, state(1));
  const Tensor mask = tensor({3}, {1, 0, 1}, DType::kBool);
  static_cast<unsigned char*>(mask.data())[1] = 2;
  StateDict wrong;
  wrong.add("mask", mask);
  directory.save(2, wrong);
  EXPECT_EQ(code_of([&] { directory.verify(2); }), Code::kFormat);
  const auto loaded = directory.load_latest(device());
  EXPECT_EQ(loaded->step, 1);
  EXPECT_EQ(loaded->damaged, std::vector<int64_t>{2});
}

// The target is live memory, and kernels rely on its bools whatever the load reports.
TEST_F(DirectoryTest, ABoolThatChangesAfterTheChecksDoesNotReachATensor) {
  Directory directory = open();
  StateDict saved;
  saved.add("mask", tensor({3}, {1, 1, 1}, DType::kBool));
  directory.save(1, saved);
  const auto loaded = directory.load_latest(device());
  const std::string bytes = read_file(tensors_of(1));
  std::fstream(tensors_of(1), std::ios::binary | std::ios::in | std::ios::out)
      << bytes.substr(0, bytes.size() - 1) << '\x02';
  StateDict live;
  live.add("mask", tensor({3}, {1, 1, 1}, DType::kBool));
  EXPECT_EQ(code_of([&] { stage_copy(live, loaded->state)(); }), Code::kFormat);
  const auto* elements = static_cast<const unsigned char*>(live.find("mask")->tensor.data());
  for (int i = 0; i < 3; ++i) EXPECT_LE(elements[i], 1) << i;
}

TEST_F(DirectoryTest, S14_ReportsThatTheDirectoryWentAway) {
  Directory directory = open();
  std::filesystem::remove_all(path("run"));
  EXPECT_EQ(code_of([&] { directory.save(1, state(1)); }), Code::kIo);
}

TEST_F(DirectoryTest, ReportsAParentThatIsNotThere) {
  EXPECT_EQ(code_of([&] { Directory(system_io(), system_clock(), path("none/run")); }), Code::kIo);
}

}  // namespace
}  // namespace halftone::checkpoint
