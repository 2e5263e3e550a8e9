// Valid and invalid headers of safetensors files, by the rows F1 to F14, F22 and F25 of tests/faults.md.
#include "checkpoint/safetensors_header.h"

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/file_fixture.h"

namespace halftone::checkpoint {
namespace {

std::string length_bytes(uint64_t length) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(length >> (8 * i));
  return bytes;
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

class SafetensorsHeaderTest : public FileTest {
 protected:
  SafetensorsHeader read(const std::string& bytes) {
    write_file(path("file"), bytes);
    return read_safetensors_header(File::open(system_io(), path("file")));
  }
  SafetensorsHeader read(const std::string& header, size_t data_bytes) {
    return read(length_bytes(header.size()) + header + std::string(data_bytes, '\0'));
  }
  Code code(const std::string& header, size_t data_bytes = 0) {
    return code_of([&] { read(header, data_bytes); });
  }
  Code code_of_bytes(const std::string& bytes) {
    return code_of([&] { read(bytes); });
  }
};

TEST_F(SafetensorsHeaderTest, ReadsNamesDtypesShapesAndPlaces) {
  const std::string text = R"({"__metadata__":{"a":"b"},"second":)" + entry("BF16", "[2,3]", "[8,20]") +
                           R"(,"first":)" + entry("F32", "[2]", "[0,8]") + "}   ";
  const SafetensorsHeader header = read(text, 20);
  ASSERT_EQ(header.tensors.size(), 2u);
  EXPECT_EQ(header.tensors[0].name, "first");
  EXPECT_EQ(header.tensors[1].name, "second");
  EXPECT_EQ(header.tensors[1].dtype, DType::kBF16);
  EXPECT_EQ(header.shape_of(header.tensors[1]), (Shape{2, 3}));
  EXPECT_EQ(header.data_begin, 8 + text.size());
  ASSERT_EQ(header.metadata.size(), 1u);
  EXPECT_EQ(header.metadata[0].second, "b");
  EXPECT_EQ(header.find("second"), &header.tensors[1]);
  EXPECT_EQ(header.find("third"), nullptr);
}

TEST_F(SafetensorsHeaderTest, F1_RefusesAFileTooShortForALength) {
  for (size_t size = 0; size < 8; ++size) EXPECT_EQ(code_of_bytes(std::string(size, '{')), Code::kFormat) << size;
}

TEST_F(SafetensorsHeaderTest, F2_RefusesALengthBeyondTheFile) {
  const std::vector<uint64_t> lengths = {uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 7, 3, 0, 1};
  for (uint64_t length : lengths) EXPECT_EQ(code_of_bytes(length_bytes(length) + "{}"), Code::kFormat) << length;
}

TEST_F(SafetensorsHeaderTest, F3_RefusesAHeaderAboveTheLimitInAFileThatLarge) {
  write_file(path("large"), length_bytes(kMaxHeaderBytes + 1) + "{}");
  std::filesystem::resize_file(path("large"), kMaxHeaderBytes + 100);
  EXPECT_EQ(code_of([&] { read_safetensors_header(File::open(system_io(), path("large"))); }), Code::kFormat);
}

TEST_F(SafetensorsHeaderTest, F4_RefusesWhatIsNoObjectInUtf8) {
  for (const char* text : {"[]", "12", "\"a\"", "null", " {}", "\xef\xbb\xbf{}", "{", "{}}", "{} x", "{\"\xff\":1}",
                           "{'a':1}", "{\"a\":1,}", "\n{}"}) {
    EXPECT_EQ(code(text), Code::kFormat) << text;
  }
  EXPECT_EQ(code("{}   "), Code::kOk);
}

TEST_F(SafetensorsHeaderTest, F5_RefusesNamesAndKeysThatStandTwice) {
  const std::string one = entry("U8", "[1]", "[0,1]");
  EXPECT_EQ(code(R"({"a":)" + one + R"(,"a":)" + entry("U8", "[1]", "[1,2]") + "}", 2), Code::kFormat);
  EXPECT_EQ(code(R"({"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1), Code::kFormat);
  EXPECT_EQ(code(R"({"__metadata__":{},"__metadata__":{}})"), Code::kFormat);
}

TEST_F(SafetensorsHeaderTest, F6_RefusesDepthAndNumbersThatTheFormatHasNot) {
  EXPECT_EQ(code("{\"a\":" + std::string(1000000, '[')), Code::kFormat);
  EXPECT_EQ(code("{\"" + std::string(50'000'000, 'x')), Code::kFormat);
  std::string objects = "{";
  for (int i = 0; i < 100000; ++i) objects += "\"a\":{";
  EXPECT_EQ(code(objects), Code::kFormat);
  for (const char* number :
       {"1e400", "-0", "1.0", "0x10", "\"16\"", "18446744073709551616", "-1", "01", "null", "9223372036854775808"}) {
    EXPECT_EQ(code(R"({"a":)" + entry("U8", std::string("[") + number + "]", "[0,16]") + "}", 16), Code::kFormat)
        << number;
    EXPECT_EQ(code(R"({"a":)" + entry("U8", "[16]", std::string("[0,") + number + "]") + "}", 16), Code::kFormat)
        << number;
  }
}

TEST_F(SafetensorsHeaderTest, F7_RefusesOffsetsThatRunBackwardsLeaveHolesOrOverlap) {
  const auto two = [](const char* a, const char* b) {
    return R"({"a":)" + entry("U8", "[4]", a) + R"(,"b":)" + entry("U8", "[4]", b) + "}";
  };
  EXPECT_EQ(code(two("[0,4]", "[4,8]"), 8), Code::kOk);
  EXPECT_EQ(code(two("[4,0]", "[4,8]"), 8), Code::kFormat);
  EXPECT_EQ(code(two("[0,4]", "[5,9]"), 9), Code::kFormat);
  EXPECT_EQ(code(two("[0,4]", "[3,7]"), 7), Code::kFormat);
  EXPECT_EQ(code(two("[0,4]", "[0,4]"), 4), Code::kFormat);
  EXPECT_EQ(code(two("[0]", "[4,8]"), 8), Code::kFormat);
  EXPECT_EQ(code(two("[0,4,8]", "[4,8]"), 8), Code::kFormat);
}

TEST_F(SafetensorsHeaderTest, F8_RefusesAShortFileAndTrailingBytes) {
  const std::string text = R"({"a":)" + entry("F32", "[2]", "[0,8]") + "}";
  EXPECT_EQ(code(text, 7), Code::kFormat);
  EXPECT_EQ(code(text, 9), Code::kFormat);
  EXPECT_EQ(code("{}", 1), Code::kFormat);
}

TEST_F(SafetensorsHeaderTest, F9_RefusesBytesThatDtypeAndShapeDoNotNeed) {
  EXPECT_EQ(code(R"({"a":)" + entry("F32", "[2]", "[0,4]") + "}", 4), Code::kFormat);
  EXPECT_EQ(code(R"({"a":)" + entry("F32", "[2]", "[0,12]") + "}", 12), Code::kFormat);
}

TEST_F(SafetensorsHeaderTest, F10_RefusesProductsThatWrap) {
  for (const char* shape : {"[2,18446744073709551614]", "[2,9223372036854775807]", "[4294967296,4294967296]",
                            "[8589934592,2147483648]", "[4611686018427387904,2]", "[2,0,1844674408370951615]"}) {
    EXPECT_EQ(code(R"({"a":)" + entry("U8", shape, "[0,0]") + "}"), Code::kFormat) << shape;
  }
}

TEST_F(SafetensorsHeaderTest, F11_TellsForeignDtypesFromWrongOnes) {
  EXPECT_EQ(code(R"({"a":)" + entry("U32", "[1]", "[0,4]") + "}", 4), Code::kUnsupported);
  EXPECT_EQ(code(R"({"a":)" + entry("F4", "[1]", "[0,1]") + "}", 1), Code::kUnsupported);
  EXPECT_EQ(code(R"({"a":)" + entry("float", "[1]", "[0,4]") + "}", 4), Code::kFormat);
  EXPECT_EQ(code(R"({"a":)" + entry("U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]") + "}", 1), Code::kUnsupported);
}

TEST_F(SafetensorsHeaderTest, F12_AcceptsTensorsWithoutElementsAndScalars) {
  const SafetensorsHeader header =
      read(R"({"empty":)" + entry("F64", "[2,0]", "[0,0]") + R"(,"scalar":)" + entry("F64", "[]", "[0,8]") + "}", 8);
  EXPECT_EQ(header.shape_of(*header.find("empty")), (Shape{2, 0}));
  EXPECT_EQ(header.shape_of(*header.find("scalar")), Shape());
}

TEST_F(SafetensorsHeaderTest, F13_TakesTextsAloneAsMetadata) {
  EXPECT_EQ(code(R"({"__metadata__":{"a":1}})"), Code::kFormat);
  EXPECT_EQ(code(R"({"__metadata__":{"a":{}}})"), Code::kFormat);
  EXPECT_EQ(code(R"({"__metadata__":"a"})"), Code::kFormat);
  EXPECT_EQ(code(R"({"__metadata__":)" + entry("U8", "[1]", "[0,1]") + "}", 1), Code::kFormat);
  EXPECT_EQ(code(R"({"__metadata__":{"a":")" + std::string(10000000, 'x') + "\"}}"), Code::kOk);
}

TEST_F(SafetensorsHeaderTest, F14_TakesNamesAsBytesWithoutMeaning) {
  const auto named = [](const std::string& name) { return "{\"" + name + "\":" + entry("U8", "[1]", "[0,1]") + "}"; };
  EXPECT_EQ(code(named("../../x"), 1), Code::kOk);
  EXPECT_EQ(code(named("\\u202e"), 1), Code::kOk);
  EXPECT_EQ(code(named(std::string(1 << 20, 'x')), 1), Code::kOk);
  EXPECT_EQ(code(named(""), 1), Code::kFormat);
  EXPECT_EQ(code(named("a\\u0000b"), 1), Code::kFormat);
}

TEST_F(SafetensorsHeaderTest, F22_RefusesALengthInTheOtherByteOrder) {
  const std::string text = "{}      ";
  std::string bytes = length_bytes(text.size());
  std::swap(bytes[0], bytes[7]);
  EXPECT_EQ(code_of_bytes(bytes + text), Code::kFormat);
}

TEST_F(SafetensorsHeaderTest, F21_ReportsWhatIsNoRegularFileAtOnce) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  ASSERT_EQ(symlink(path("loop").c_str(), path("loop").c_str()), 0);
  for (const std::string& name : {path("fifo"), path("loop"), path("none"), folder(), std::string("/dev/zero")}) {
    EXPECT_EQ(code_of([&] { read_safetensors_header(File::open(system_io(), name)); }), Code::kIo) << name;
  }
}

TEST_F(SafetensorsHeaderTest, F25_RefusesArchivesAndPickles) {
  EXPECT_EQ(code_of_bytes(std::string("PK\x03\x04\x00\x00\x08\x08\x00\x00", 10)), Code::kFormat);
  EXPECT_EQ(code_of_bytes(std::string("\x80\x02}q\x00(X\x06\x00\x00\x00weight", 17)), Code::kFormat);
}

// A program that parses the object alone would never see these bytes.
TEST_F(SafetensorsHeaderTest, F29_RefusesBytesHiddenBehindTheObject) {
  const std::string object = R"({"a":)" + entry("U8", "[2]", "[0,2]") + "}";
  EXPECT_EQ(code(object + "  ", 2), Code::kOk);
  const std::string hidden[] = {std::string(1, '\0'),
                                std::string("\0 #!/bin/sh \xff\xfe {{{", 19),
                                "\n",
                                "\r",
                                "\t",
                                "\v",
                                "\f",
                                " \n ",
                                "\xc2\xa0",
                                "{}",
                                ",",
                                "//",
                                "/**/",
                                "\x1a",
                                "\x7f"};
  for (const std::string& tail : hidden) {
    EXPECT_EQ(code(object + tail, 2), Code::kFormat) << tail;
    EXPECT_EQ(code(object + "   " + tail, 2), Code::kFormat) << tail;
  }
}

// At each place between two tokens, and inside a string and a number.
TEST_F(SafetensorsHeaderTest, F29_RefusesAZeroByteAnywhere) {
  const std::string object = R"({"__metadata__":{"b":"c"},"a":)" + entry("U8", "[ 2 ]", "[0,2]") + "}";
  for (size_t i = 0; i <= object.size(); ++i) {
    std::string text = object;
    text.insert(i, 1, '\0');
    EXPECT_EQ(code(text, 2), Code::kFormat) << i;
  }
}

TEST_F(SafetensorsHeaderTest, F29_TheMessageNamesTheByte) {
  const std::string object = R"({"a":)" + entry("U8", "[2]", "[0,2]") + "}";
  std::string message;
  try {
    read(object + std::string("\0x", 2), 2);
  } catch (const Error& error) {
    message = error.what();
  }
  const std::string place = "byte " + std::to_string(8 + object.size()) + " (0x00)";
  EXPECT_NE(message.find(place), std::string::npos) << message;
}

TEST_F(SafetensorsHeaderTest, ReadsBackWhatItWrites) {
  SafetensorsHeader written;
  written.metadata.emplace_back("quote\"", "line\nbreak \xc3\xa4");
  append_tensor(written, "a\"\\b", DType::kF16, {3});
  append_tensor(written, "empty", DType::kBool, {0, 4});
  append_tensor(written, "scalar", DType::kI64, {});
  const std::string front = serialize(written);
  EXPECT_EQ(front.size() % 8, 0u);
  EXPECT_EQ(front.size(), written.data_begin);
  const SafetensorsHeader header = read(front + std::string(14, '\0'));
  EXPECT_EQ(header.checksum, written.checksum);
  EXPECT_EQ(header.metadata, written.metadata);
  ASSERT_EQ(header.tensors.size(), 3u);
  EXPECT_EQ(header.find("a\"\\b")->end, 6u);
  EXPECT_EQ(header.shape_of(*header.find("empty")), (Shape{0, 4}));
  EXPECT_EQ(header.find("scalar")->dtype, DType::kI64);
}

TEST_F(SafetensorsHeaderTest, RefusesToWriteWhatIsNoUtf8) {
  SafetensorsHeader header;
  header.metadata.emplace_back("a", "\xff");
  EXPECT_EQ(code_of([&] { serialize(header); }), Code::kFormat);
}

}  // namespace
}  // namespace halftone::checkpoint
