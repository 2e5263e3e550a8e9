// P6: reading an index takes memory in proportion to its size, even if an attacker wrote it to exhaust memory. All of
// these files have a valid checksum.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "checkpoint/checksum.h"
#include "checkpoint/file_fixture.h"
#include "checkpoint/index.h"
#include "checkpoint/resource_usage.h"

namespace halftone::checkpoint {
namespace {

constexpr double kMebibyte = 1 << 20;
constexpr size_t kTensors = 1'000'000;

class LargeIndexTest : public FileTest {
 protected:
  LargeIndexTest() : path_(path("index.json")) {}

  // Takes the text without its last brace; returns the size of the file.
  double write_signed(const std::string& text) {
    std::ofstream file(path_, std::ios::binary);
    file << text << ",\"checksum\":\"" << checksum_of_text(text.data(), text.size()) << "\"}";
    return static_cast<double>(text.size());
  }

  static std::string name(size_t i) {
    char text[64];
    std::snprintf(text, sizeof text, "layer.%07zu.weight.of.some.length", i);
    return text;
  }

  int write_large_index() {
    Index index;
    index.files.push_back({.name = file_name(0, 1)});
    for (size_t i = 0; i < kTensors; ++i) {
      index.tensors.push_back({.name = name(i), .dtype = DType::kF32, .shape = {1}, .parts = {{.begin = 0, .end = 1}}});
    }
    std::ofstream file(path_, std::ios::binary);
    file << serialize(index) << std::flush;
    return file.good() ? 0 : 1;
  }

  int read_refused() {
    return code_of([&] { read_index(system_io(), path_); }) == Code::kFormat ? 0 : 1;
  }

  // Repeats `item` inside an otherwise valid index.
  std::string filled(const char* before, const std::string& item, const char* after, size_t bytes) {
    std::string text = R"({"format":"halftone-checkpoint","version":1,"step":1,"save_id":"0",)";
    text += before;
    while (text.size() < bytes) text += item + ",";
    return text.append(item).append(after);
  }

  void expect_refused_in_proportion(const std::string& text) {
    const double size = write_signed(text);
    const rusage used = used_by([&] { return read_refused(); });
    if (kAnySanitizer) return;
    EXPECT_LE(peak_bytes(used), 4 * size + 256 * kMebibyte) << text.substr(0, 120);
  }

  std::string path_;
};

TEST_F(LargeIndexTest, P6_AMillionTensorsAreReadInProportionToTheirText) {
  if (kAnySanitizer) GTEST_SKIP() << "a sanitizer takes memory of its own";
  used_by([&] { return write_large_index(); });
  const auto size = static_cast<double>(std::filesystem::file_size(path_));
  const rusage used = used_by([&] {
    const Index read = read_index(system_io(), path_);
    return read.tensors.size() == kTensors && read.tensors.back().name == name(kTensors - 1) ? 0 : 1;
  });
  std::printf("an index of %.0f MB takes %.0f MB and %.2f s of the processor\n", size / 1e6, peak_bytes(used) / 1e6,
              seconds(used));
  EXPECT_LE(peak_bytes(used), 4 * size + 64 * kMebibyte);
}

// F27
TEST_F(LargeIndexTest, F27_P6_ListsWithoutAnEndTakeNoMemory) {
  constexpr size_t kBytes = 30'000'000;
  expect_refused_in_proportion(filled(R"("tensors":[{"shape":[)", "0", "]}]", kBytes));
  expect_refused_in_proportion(filled(R"("tensors":[{"shape":[)", "[]", "]}]", kBytes));
  expect_refused_in_proportion(filled(R"("tensors":[)", "0", "]", kBytes));
  expect_refused_in_proportion(filled(R"("tensors":[)", "[[[[]]]]", "]", kBytes));
  expect_refused_in_proportion(filled(R"("unknown":{"list":[)", R"("")", "]}", kBytes));
}

TEST_F(LargeIndexTest, F27_P6_MembersWithoutAnEndTakeNoMemory) {
  std::string text = R"({"format":"halftone-checkpoint","version":1)";
  for (int i = 0; text.size() < 30'000'000; ++i) text += ",\"" + std::to_string(i) + "\":0";
  expect_refused_in_proportion(text);
}

// Two readers that use the first and the last one would read different checkpoints.
TEST_F(LargeIndexTest, F27_AMemberThatStandsTwiceIsRefused) {
  const std::string once =
      R"({"format":"halftone-checkpoint","version":1,"step":1,"save_id":"0","files":[],"scalars":[],"tensors":[])";
  write_signed(once);
  EXPECT_EQ(read_index(system_io(), path_).step, 1);
  for (const char* again : {R"(,"step":2)", R"(,"tensors":[])", R"(,"later":{"a":0,"a":0})"}) {
    write_signed(once + again);
    EXPECT_EQ(read_refused(), 0) << again;
  }
}

// A sound index in itself, and then more, up to the checksum that it is signed with.
TEST_F(LargeIndexTest, F29_BytesHiddenBehindAnIndexAreRefused) {
  const std::string once =
      R"({"format":"halftone-checkpoint","version":1,"step":1,"save_id":"0","files":[],"scalars":[],"tensors":[])";
  write_signed(once);
  EXPECT_EQ(read_refused(), 1);
  for (const std::string& tail : {std::string("}\0", 2), std::string("\0", 1), std::string("}"), std::string("}{"),
                                  std::string("} "), std::string("}\n")}) {
    write_signed(once + tail);
    EXPECT_EQ(read_refused(), 0) << tail;
  }
  write_signed("\xef\xbb\xbf" + once);
  EXPECT_EQ(read_refused(), 0);
  for (size_t i = 0; i <= once.size(); ++i) {
    std::string text = once;
    text.insert(i, 1, '\0');
    write_signed(text);
    EXPECT_EQ(read_refused(), 0) << i;
  }
}

// Unknown members are skipped, and lists of a newer version are not read.
TEST_F(LargeIndexTest, UnknownListsArePassedOverAndNewerVersionsToldFirst) {
  const std::string known = R"({"format":"halftone-checkpoint","version":1,"step":3,"save_id":"0",)";
  write_signed(known + R"("later":[1,{"a":[]},"b"],"files":[],"scalars":[],"tensors":[])");
  EXPECT_EQ(read_index(system_io(), path_).step, 3);
  write_signed(R"({"format":"halftone-checkpoint","version":3,"tensors":["of another form"])");
  EXPECT_EQ(code_of([&] { read_index(system_io(), path_); }), Code::kUnsupported);
}

}  // namespace
}  // namespace halftone::checkpoint
