#include "json_value.h"

#include <charconv>
#include <cmath>
#include <stdexcept>

namespace halftone_analyze {
namespace {

constexpr int kDeepest = 8;  // lists and objects in each other

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  JsonValue read() {
    JsonValue value = read_value(0);
    skip_blanks();
    if (at_ != text_.size()) fail("the end was expected");
    return value;
  }

 private:
  using Kind = JsonValue::Kind;

  [[noreturn]] void fail(const std::string& problem) const {
    throw std::runtime_error("byte " + std::to_string(at_ + 1) + ": " + problem);
  }

  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  JsonValue read_value(int depth) {
    skip_blanks();
    if (depth > kDeepest) fail("lists and objects are nested too deep");
    if (next() == '{') return read_object(depth);
    if (next() == '[') return read_list(depth);
    JsonValue value;
    if (next() == '"') {
      value.kind = Kind::kText;
      value.text = read_text();
    } else if (next() == '-' || (next() >= '0' && next() <= '9')) {
      value.kind = Kind::kNumber;
      value.number = read_number();
    } else if (next() == 't' || next() == 'f') {
      value.kind = Kind::kBoolean;
      value.number = next() == 't' ? 1 : 0;
      if (!take("true") && !take("false")) fail("a value was expected");
    } else if (!take("null")) {
      fail("a value was expected");
    }
    return value;
  }

  // from_chars refuses what JSON has not, but for zeros in front.
  double read_number() {
    double number = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), number);
    const char* digits = begin + (*begin == '-' ? 1 : 0);
    const bool has_front_zero = end - digits > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9';
    if (error != std::errc() || has_front_zero || !std::isfinite(number) || end[-1] == '.') {
      fail("a number was expected");
    }
    at_ += static_cast<size_t>(end - begin);
    return number;
  }

  std::string read_text() {
    std::string text;
    ++at_;
    while (next() != '"') {
      if (static_cast<unsigned char>(next()) < 0x20) fail("a text has no end");
      if (take("\\")) {
        add_escaped(text);
      } else {
        text += text_[at_++];
      }
    }
    ++at_;
    return text;
  }

  void add_escaped(std::string& text) {
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (next() == 'u') return add_character(text, read_character());
    const size_t which = kNames.find(next());
    if (at_ == text_.size() || which == std::string_view::npos) fail("no character has this escape");
    text += kMeanings[which];
    ++at_;
  }

  uint32_t read_unit() {
    uint32_t unit = 0;
    const std::string_view digits = text_.substr(std::min(at_ + 1, text_.size()), 4);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
    if (error != std::errc() || digits.size() < 4 || end != digits.data() + 4) fail("four digits were expected");
    at_ += 5;
    return unit;
  }

  // One unit of UTF-16, or two: U+FFFD in place of half a pair.
  uint32_t read_character() {
    const uint32_t first = read_unit();
    if (first < 0xd800 || first > 0xdfff) return first;
    if (first > 0xdbff || !take("\\") || next() != 'u') return 0xfffd;
    const uint32_t second = read_unit();
    if (second < 0xdc00 || second > 0xdfff) return 0xfffd;
    return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
  }

  static void add_character(std::string& text, uint32_t code) {
    const auto tail = [&](int shift) { text += static_cast<char>(0x80 | (code >> shift & 0x3f)); };
    if (code < 0x80) {
      text += static_cast<char>(code);
      return;
    }
    const int tails = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr int kLeads[] = {0, 0xc0, 0xe0, 0xf0};
    text += static_cast<char>(kLeads[tails] | static_cast<int>(code >> (6 * tails)));
    for (int shift = 6 * (tails - 1); shift >= 0; shift -= 6) tail(shift);
  }

  JsonValue read_list(int depth) {
    JsonValue value;
    value.kind = Kind::kList;
    ++at_;
    skip_blanks();
    if (take("]")) return value;
    do {
      value.list.push_back(read_value(depth + 1));
      skip_blanks();
    } while (take(","));
    if (!take("]")) fail("a comma or ] was expected");
    return value;
  }

  JsonValue read_object(int depth) {
    JsonValue value;
    value.kind = Kind::kObject;
    ++at_;
    skip_blanks();
    if (take("}")) return value;
    do {
      skip_blanks();
      if (next() != '"') fail("a name was expected");
      std::string name = read_text();
      skip_blanks();
      if (!take(":")) fail("a colon was expected");
      value.members[std::move(name)] = read_value(depth + 1);
      skip_blanks();
    } while (take(","));
    if (!take("}")) fail("a comma or } was expected");
    return value;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

const JsonValue* JsonValue::member(const std::string& name) const {
  const auto found = members.find(name);
  return found == members.end() ? nullptr : &found->second;
}

JsonValue read_json(std::string_view text) { return JsonReader(text).read(); }

}  // namespace halftone_analyze
