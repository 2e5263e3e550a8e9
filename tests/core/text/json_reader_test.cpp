// The JSON reader reports every token of RFC 8259 and refuses everything else, wherever its buffer ends.
#include "core/text/json_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/error.h"

namespace halftone {
namespace {

// Writes the events down.
class Transcript final : public JsonHandler {
 public:
  void literal() override { text_ += "literal "; }
  void integer(bool is_negative, uint64_t magnitude) override {
    text_.append(is_negative ? "-" : "").append(std::to_string(magnitude)).append(" ");
  }
  void other_number() override { text_ += "other "; }
  void text(std::string value) override { text_.append("'").append(value).append("' "); }
  void key(std::string value) override { text_.append(value).append(": "); }
  void begin_object() override { text_ += "{ "; }
  void end_object() override { text_ += "} "; }
  void begin_list() override { text_ += "[ "; }
  void end_list() override { text_ += "] "; }
  size_t longest_text() const override { return limit; }

  const std::string& written() const { return text_; }
  size_t limit = 100;

 private:
  std::string text_;
};

// Fills the buffer with at most `piece` bytes at a time.
class Pieces final : public ByteSource {
 public:
  Pieces(const std::string& text, size_t piece) : ByteSource(0), text_(text), piece_(piece) { refill(); }
  const std::string& name() const noexcept override { return name_; }

 private:
  size_t read(uint64_t offset, char* buffer, size_t size) override {
    return text_.copy(buffer, std::min(piece_, size), offset);
  }

  const std::string name_ = "the text";
  const std::string& text_;
  const size_t piece_;
};

std::string read(const std::string& json, size_t limit = 100, size_t piece = 8192) {
  Pieces text(json, piece);
  Transcript transcript;
  transcript.limit = limit;
  read_json(text, transcript);
  return transcript.written();
}

// kOk if the reader accepts the text.
Code code(const std::string& json) {
  try {
    read(json);
  } catch (const Error& error) {
    return error.code();
  }
  return Code::kOk;
}

TEST(JsonReader, ReportsEveryKindOfToken) {
  EXPECT_EQ(read("{\"a\" : [ true,false\t,null\r\n], \"b\":{}, \"c\":[]}  "),
            "{ a: [ literal literal literal ] b: { } c: [ ] } ");
  EXPECT_EQ(read("[0,-0,7,-7,18446744073709551615,-9223372036854775808]"),
            "[ 0 -0 7 -7 18446744073709551615 -9223372036854775808 ] ");
  EXPECT_EQ(read("[18446744073709551616,1.0,1e0,-0.5E-3,1E+400]"), "[ other other other other other ] ");
}

TEST(JsonReader, DecodesEscapes) {
  EXPECT_EQ(read(R"("\"\\\/\b\f\n\r\t")"), "'\"\\/\b\f\n\r\t' ");
  EXPECT_EQ(read(R"("\u0041\u00e4\u20AC\ud83d\ude00")"), "'A\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80' ");
  EXPECT_EQ(read(R"("\u0000")"), std::string("'\0' ", 4));
}

TEST(JsonReader, RefusesWhatJsonHasNot) {
  const std::vector<std::string> texts = {"",
                                          " ",
                                          "{",
                                          "[",
                                          "[1",
                                          "[1,",
                                          "[1,]",
                                          "{\"a\":1,}",
                                          "{\"a\"}",
                                          "{1:2}",
                                          "[1 2]",
                                          "]",
                                          "tru",
                                          "nulll",
                                          "True",
                                          "01",
                                          "-",
                                          "1.",
                                          ".5",
                                          "1e",
                                          "1e+",
                                          "+1",
                                          "\"",
                                          "\"a",
                                          "'a'",
                                          "\"\n\"",
                                          "\"\\x\"",
                                          "\"\\u00g0\"",
                                          "\"\\ud83d\"",
                                          "\"\\ude00\"",
                                          "\"\\ud83d\\u0041\"",
                                          "{} {}",
                                          "{}\n",
                                          "\xef\xbb\xbf{}",
                                          "/**/1"};
  for (const std::string& text : texts) EXPECT_EQ(code(text), Code::kFormat) << text;
}

TEST(JsonReader, RefusesWhatIsNoUtf8) {
  for (const char* bytes :
       {"\x80", "\xc3", "\xc0\x80", "\xe2\x82", "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xff"}) {
    EXPECT_EQ(code(std::string("\"").append(bytes).append("\"")), Code::kFormat) << bytes;
  }
}

TEST(JsonReader, StopsAtEightLevels) {
  EXPECT_EQ(code(std::string(8, '[') + std::string(8, ']')), Code::kOk);
  EXPECT_EQ(code(std::string(9, '[') + std::string(9, ']')), Code::kFormat);
}

TEST(JsonReader, KeepsOneByteMoreThanTheLimitOfALongText) {
  EXPECT_EQ(read("[\"four\",\"fives\",\"sixsix\"]", 4), "[ 'four' 'fives' 'sixsi' ] ");
}

TEST(JsonReader, ReadsTokensAcrossTheEndsOfThePieces) {
  const std::string value = R"({"key":[-12345,"\ud83d\ude00)"
                            "\xf0\x9f\x98\x80"
                            R"(",true]})";
  const std::string expected = read(value);
  for (size_t piece = 1; piece < value.size(); ++piece) EXPECT_EQ(read(value, 100, piece), expected) << piece;
}

TEST(JsonReader, NamesTheByteThatIsNoJson) {
  try {
    read("{\"a\": x}", 100, 3);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the text: no JSON in UTF-8 at byte 6 (0x78): no JSON value begins so");
  }
}

}  // namespace
}  // namespace halftone
