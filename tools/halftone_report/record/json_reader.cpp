#include "record/json_reader.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace halftone_report {
namespace {

constexpr int kDeepest = 64;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

void append_utf8(std::string& text, unsigned code) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | (code >> 12));
    tail(6), tail(0);
  } else {
    text += static_cast<char>(0xf0 | (code >> 18));
    tail(12), tail(6), tail(0);
  }
}

}  // namespace

void JsonReader::fail(std::string_view expected) const {
  throw std::runtime_error("expected " + std::string(expected) + " at column " + std::to_string(place_ + 1));
}

// The next character that is no space; 0 at the end.
char JsonReader::next() {
  while (place_ < text_.size() && is_space(text_[place_])) ++place_;
  return place_ < text_.size() ? text_[place_] : '\0';
}

bool JsonReader::accept(char wanted) {
  if (next() != wanted) return false;
  ++place_;
  return true;
}

void JsonReader::expect(char wanted) {
  if (!accept(wanted)) fail(std::string(1, wanted));
}

void JsonReader::expect_word(std::string_view word) {
  if (text_.substr(place_, word.size()) != word) fail("a value");
  place_ += word.size();
}

void JsonReader::finish() {
  if (next() != '\0' || place_ != text_.size()) fail("the end of the line");
}

double JsonReader::number() {
  if (next() == 'n') {
    expect_word("null");
    return std::numeric_limits<double>::quiet_NaN();
  }
  const char* const begin = text_.data() + place_;
  const bool is_digit = place_ < text_.size() && (*begin == '-' || (*begin >= '0' && *begin <= '9'));
  double value = 0.0;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  const bool is_huge = error == std::errc::result_out_of_range;
  if (!is_digit || (error != std::errc() && !is_huge) || (!is_huge && !std::isfinite(value))) fail("a number");
  place_ += static_cast<size_t>(end - begin);
  return is_huge ? std::numeric_limits<double>::quiet_NaN() : value;
}

std::string_view JsonReader::string() {
  if (!accept('"')) fail("a text");
  const size_t end = text_.find_first_of("\"\\", place_);
  if (end != std::string_view::npos && text_[end] == '"') {  // without escapes
    const std::string_view result = text_.substr(place_, end - place_);
    place_ = end + 1;
    return result;
  }
  unescaped_.clear();
  while (place_ < text_.size() && text_[place_] != '"') {
    const char c = text_[place_++];
    if (c == '\\') {
      append_escape();
    } else {
      unescaped_ += c;
    }
  }
  if (place_ == text_.size()) fail("\"");
  ++place_;
  return unescaped_;
}

void JsonReader::append_escape() {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
  const char letter = place_ < text_.size() ? text_[place_++] : '\0';
  if (const size_t which = kLetters.find(letter); which != std::string_view::npos) {
    unescaped_ += kMeant[which];
    return;
  }
  if (letter != 'u') fail("an escape");
  unsigned code = hexadecimal();
  if (code >= 0xd800 && code < 0xdc00 && text_.substr(place_, 2) == "\\u") {  // the first of a pair
    place_ += 2;
    const unsigned second = hexadecimal();
    code = second >= 0xdc00 && second < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00) : 0xfffd;
  }
  append_utf8(unescaped_, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
}

unsigned JsonReader::hexadecimal() {
  unsigned code = 0;
  const std::string_view digits = text_.substr(place_, 4);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
  if (error != std::errc() || digits.size() != 4 || end != digits.data() + 4) fail("four hexadecimal digits");
  place_ += 4;
  return code;
}

void JsonReader::skip(int depth) {
  if (depth > kDeepest) fail("less depth");
  switch (next()) {
    case '{':
      return object([&](const std::string&) { skip(depth + 1); });
    case '[':
      return array([&] { skip(depth + 1); });
    case '"':
      return static_cast<void>(string());
    case 't':
      return expect_word("true");
    case 'f':
      return expect_word("false");
    default:
      return static_cast<void>(number());
  }
}

}  // namespace halftone_report
