#include "analysis/statistics/record_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <string>

#include "analysis/statistics/kept_lines.h"
#include "core/error.h"
#include "temporary_folder.h"

namespace halftone::analysis {
namespace {

std::string line(int64_t step, const std::string& rest = "step") {
  return "{\"step\":" + std::to_string(step) + ",\"record\":\"" + rest + "\"}";
}

class RecordFileTest : public testing::Test {
 protected:
  void put(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }
  std::string text() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // The message of the error that opening the file throws; empty if it throws none.
  std::string refusal(int64_t after_step) {
    try {
      RecordFile(system_io(), path_, after_step);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.path("run.jsonl");
};

TEST_F(RecordFileTest, LinesAreOnTheDiskAfterAWrite) {
  RecordFile file(system_io(), path_, 0);
  EXPECT_EQ(text(), "");
  file.add(line(1));
  EXPECT_EQ(text(), "");
  file.write();
  EXPECT_EQ(text(), line(1) + "\n");
  file.add(line(2));
  file.add(line(3));
  file.sync();
  EXPECT_EQ(text(), line(1) + "\n" + line(2) + "\n" + line(3) + "\n");
}

TEST_F(RecordFileTest, ARunThatGoesOnKeepsTheLinesOfItsSteps) {
  // The statistics of tensors come later than those of the steps.
  put(line(0, "run") + "\n" + line(1) + "\n" + line(2) + "\n" + line(3) + "\n" + line(2, "tensor") +
      "\n{\"step\": 2, 7}\n");
  RecordFile file(system_io(), path_, 2);
  file.add(line(2, "run"));
  file.write();
  EXPECT_EQ(text(), line(0, "run") + "\n" + line(1) + "\n" + line(2) + "\n" + line(2, "tensor") +
                        "\n{\"step\": 2, 7}\n" + line(2, "run") + "\n");
}

TEST_F(RecordFileTest, S20_ALastLineWithoutAnEndIsDropped) {
  put(line(1) + "\n" + line(2).substr(0, 12));
  RecordFile file(system_io(), path_, 5);
  EXPECT_EQ(text(), line(1) + "\n");
}

TEST_F(RecordFileTest, ANewRunKeepsNothing) {
  put(line(0, "run") + "\n" + line(1) + "\n");
  RecordFile file(system_io(), path_, 0);
  EXPECT_EQ(text(), "");
}

TEST_F(RecordFileTest, LargeFilesAreKeptInPieces) {
  std::string all;
  for (int64_t step = 1; all.size() < 3'000'000; ++step) all += line(step, std::string(1000, 'x')) + "\n";
  put(all + line(1'000'000) + "\n");
  RecordFile file(system_io(), path_, 100'000);
  EXPECT_EQ(text(), all);
}

TEST_F(RecordFileTest, AFileThatIsNoRecordStays) {
  for (const std::string& other : {std::string("weights"), std::string("{"), std::string("{\"step\"")}) {
    put(other + "!");
    for (int64_t after_step : {0, 5})
      EXPECT_NE(refusal(after_step).find("is no record of a run: line 1"), std::string::npos);
    EXPECT_EQ(text(), other + "!");
  }
  put(line(1) + "\n\n");
  EXPECT_NE(refusal(5).find("line 2"), std::string::npos);
  put(line(1) + "\n{\"step\":x,1}\n");
  EXPECT_NE(refusal(5).find("line 2"), std::string::npos);
  EXPECT_EQ(text(), line(1) + "\n{\"step\":x,1}\n");
}

TEST_F(RecordFileTest, TheBeginningOfARecordAloneIsReplaced) {
  for (const char* begin : {"", "{", "{\"st", "{\"step\":1"}) {
    put(begin);
    EXPECT_EQ(refusal(5), "");
    EXPECT_EQ(text(), "");
  }
}

TEST_F(RecordFileTest, S19_OnlyARegularFileIsReplaced) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_NE(refusal(0).find("no regular file"), std::string::npos);
  EXPECT_NE(refusal(1).find("no regular file"), std::string::npos);
}

TEST_F(RecordFileTest, S21_LinesThatCannotBeWrittenAreTriedAgain) {
  static bool is_full;
  Io io = system_io();
  io.write = [](void*, int64_t file, uint64_t offset, const void* data, size_t size) -> int64_t {
    const Io& system = system_io();
    // The disk takes five bytes more, and then no more.
    if (is_full && offset % 5 == 0) return -ENOSPC;
    return system.write(system.user, file, offset, data, is_full ? std::min<size_t>(size, 5 - offset % 5) : size);
  };
  is_full = false;
  RecordFile file(io, path_, 0);
  file.add(line(1));
  file.write();
  is_full = true;
  file.add(line(2));
  EXPECT_THROW(file.write(), Error);
  file.add(line(3));
  EXPECT_THROW(file.sync(), Error);
  is_full = false;
  file.write();
  EXPECT_EQ(text(), line(1) + "\n" + line(2) + "\n" + line(3) + "\n");
}

TEST_F(RecordFileTest, S21_LinesThatWaitTakeLimitedMemory) {
  static bool is_full;
  Io io = system_io();
  io.write = [](void*, int64_t file, uint64_t offset, const void* data, size_t size) -> int64_t {
    const Io& system = system_io();
    return is_full ? -ENOSPC : system.write(system.user, file, offset, data, size);
  };
  is_full = true;
  RecordFile file(io, path_, 0);
  const std::string long_line = line(1, std::string(1 << 20, 'x'));
  for (int i = 0; i < 20; ++i) file.add(long_line);
  EXPECT_THROW(file.write(), Error);
  is_full = false;
  file.write();
  file.add(line(2));
  file.write();
  EXPECT_EQ(text().size() / long_line.size(), 15u);
  EXPECT_TRUE(text().ends_with(line(2) + "\n"));
}

TEST_F(RecordFileTest, S21_TheOldFileStaysWhereTheNewOneCannotBeMade) {
  put(line(1) + "\n");
  Io io = system_io();
  io.write = [](void*, int64_t, uint64_t, const void*, size_t) -> int64_t { return -ENOSPC; };
  EXPECT_THROW(RecordFile(io, path_, 5), Error);
  EXPECT_EQ(text(), line(1) + "\n");
}

TEST(KeptLines, AStepIsAnIntegerAtTheBeginning) {
  EXPECT_EQ(step_of_line("{\"step\":12,\"record\""), 12);
  EXPECT_EQ(step_of_line("{\"step\": 12,"), 12);
  for (const char* other : {"", "{}", "{\"step\":", "{\"step\":12", "{\"step\":12}", "{\"step\":1.5,", "{\"step\":-3,",
                            "{\"step\":99999999999999999999,", " {\"step\":1,", "{\"record\":1,\"step\":1,"}) {
    EXPECT_EQ(step_of_line(other), -1) << other;
  }
}

}  // namespace
}  // namespace halftone::analysis
