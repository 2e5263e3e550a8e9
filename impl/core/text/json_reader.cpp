#include "core/text/json_reader.h"

#include <cstdio>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/text/utf8.h"

namespace halftone {

namespace {

constexpr int kMaxDepth = 8;

bool is_digit(int c) { return c >= '0' && c <= '9'; }

void append_utf8(uint32_t code_point, std::string& text) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | (code_point >> shift & 0x3f)); };
  if (code_point < 0x80) {
    text += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    text += static_cast<char>(0xc0 | code_point >> 6);
    tail(0);
  } else if (code_point < 0x10000) {
    text += static_cast<char>(0xe0 | code_point >> 12);
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xf0 | code_point >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

class JsonReader {
 public:
  JsonReader(ByteSource& text, JsonHandler& handler) : text_(text), handler_(handler) {}

  void read() {
    begin_value();
    while (depth_ > 0) continue_innermost();
    // The safetensors format pads a header with spaces. Other bytes here could hide data that only some programs see.
    while (current() == ' ') advance();
    if (current() != ByteSource::kEnd) refuse("only spaces may follow the last brace");
  }

 private:
  int current() const { return text_.current(); }
  void advance() { text_.advance(); }

  bool take(char expected) {
    if (current() != expected) return false;
    advance();
    return true;
  }

  void skip_blanks() {
    while (current() == ' ' || current() == '\n' || current() == '\r' || current() == '\t') advance();
  }

  [[noreturn]] void refuse(const char* reason) const { refuse_at(text_.position(), current(), reason); }

  [[noreturn]] void refuse_at(uint64_t position, int byte, const char* reason) const {
    char value[8] = "the end";
    if (byte != ByteSource::kEnd) std::snprintf(value, sizeof value, "0x%02x", static_cast<unsigned>(byte));
    fail(Code::kFormat, "", "%s: no JSON in UTF-8 at byte %llu (%s): %s", text_.name().c_str(),
         static_cast<unsigned long long>(position), value, reason);
  }

  // ---- Lists and objects

  void begin_value() {
    skip_blanks();
    const int c = current();
    if (c == '{' || c == '[') return open(c == '{');
    if (c == '"') return handler_.text(string());
    if (c == '-' || is_digit(c)) return number();
    literal();
  }

  void open(bool is_object) {
    if (depth_ == kMaxDepth) refuse("too many lists and objects in one another");
    advance();
    is_object ? handler_.begin_object() : handler_.begin_list();
    is_object_[depth_++] = is_object;
    is_first_ = true;
  }

  // Reads the next member or item of the innermost object or list, or its end.
  void continue_innermost() {
    const bool is_object = is_object_[depth_ - 1];
    skip_blanks();
    if (take(is_object ? '}' : ']')) return close(is_object);
    if (!is_first_) {
      if (!take(',')) refuse("a comma or the closing bracket is missing");
      skip_blanks();
    }
    is_first_ = false;
    if (is_object) member_key();
    begin_value();
  }

  void close(bool is_object) {
    is_object ? handler_.end_object() : handler_.end_list();
    --depth_;
    is_first_ = false;
  }

  void member_key() {
    if (current() != '"') refuse("a key in quotes is missing");
    handler_.key(string());
    skip_blanks();
    if (!take(':')) refuse("a colon is missing");
  }

  // ---- Scalars

  void literal() {
    constexpr std::string_view kLiterals[] = {"true", "false", "null"};
    for (std::string_view literal : kLiterals) {
      if (current() != literal.front()) continue;
      for (char c : literal) {
        if (!take(c)) refuse("no JSON value begins so");
      }
      return handler_.literal();
    }
    refuse("no JSON value begins so");
  }

  // The value is computed digit by digit, so that a number of any length takes no memory.
  void number() {
    const bool is_negative = take('-');
    uint64_t magnitude = 0;
    bool is_integer = digits(&magnitude);
    if (take('.')) {
      is_integer = false;
      skip_digits();
    }
    if (take('e') || take('E')) {
      is_integer = false;
      if (!take('+')) take('-');
      skip_digits();
    }
    is_integer ? handler_.integer(is_negative, magnitude) : handler_.other_number();
  }

  // Returns whether the integer fits 64 bits. JSON allows no zeros in front of it.
  bool digits(uint64_t* value) {
    if (take('0')) return true;
    require_digit();
    bool fits = true;
    for (; is_digit(current()); advance()) {
      const auto digit = static_cast<uint64_t>(current() - '0');
      fits =
          fits && !__builtin_mul_overflow(*value, uint64_t{10}, value) && !__builtin_add_overflow(*value, digit, value);
    }
    return fits;
  }

  void skip_digits() {
    require_digit();
    while (is_digit(current())) advance();
  }

  void require_digit() const {
    if (!is_digit(current())) refuse("a digit is missing");
  }

  // ---- Strings

  std::string string() {
    advance();  // past the opening quote
    const size_t limit = handler_.longest_text();
    std::string value;
    while (!take('"')) {
      character(value);
      if (value.size() > limit) value.resize(limit + 1);
    }
    return value;
  }

  void character(std::string& value) {
    const int c = current();
    if (c < 0x20) refuse(c == ByteSource::kEnd ? "a text without an end" : "a control character in a text");
    if (c == '\\') return escape(value);
    if (c >= 0x80) return sequence(value);
    value += static_cast<char>(c);
    advance();
  }

  // A character of two to four bytes. An error names the first of them.
  void sequence(std::string& value) {
    const uint64_t position = text_.position();
    const int lead = current();
    char bytes[4];
    size_t size = 0;
    do {
      bytes[size++] = static_cast<char>(current());
      advance();
    } while (size < sizeof bytes && current() >= 0x80 && current() < 0xc0 && utf8_length(bytes, size) == 0);
    if (utf8_length(bytes, size) != size) refuse_at(position, lead, "no UTF-8");
    value.append(bytes, size);
  }

  void escape(std::string& value) {
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    advance();  // past the backslash
    if (take('u')) return append_utf8(code_point(), value);
    const size_t which =
        current() > 0 && current() < 0x80 ? kLetters.find(static_cast<char>(current())) : kLetters.npos;
    if (which == kLetters.npos) refuse("no escape of JSON");
    value += kMeanings[which];
    advance();
  }

  // Characters beyond 16 bits are written as two surrogates; a surrogate alone is no character.
  uint32_t code_point() {
    const uint32_t first = four_digits();
    if (first < 0xd800 || first > 0xdfff) return first;
    if (first > 0xdbff || !take('\\') || !take('u')) refuse("half of a pair of surrogates");
    const uint32_t second = four_digits();
    if (second < 0xdc00 || second > 0xdfff) refuse("half of a pair of surrogates");
    return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
  }

  uint32_t four_digits() {
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i, advance()) {
      const int c = current(), letter = c | 0x20;
      const bool is_letter = letter >= 'a' && letter <= 'f';
      if (!is_digit(c) && !is_letter) refuse("a hexadecimal digit is missing");
      value = value << 4 | static_cast<uint32_t>(is_letter ? letter - 'a' + 10 : c - '0');
    }
    return value;
  }

  ByteSource& text_;
  JsonHandler& handler_;
  bool is_object_[kMaxDepth] = {};  // of the open lists and objects
  int depth_ = 0;
  bool is_first_ = false;  // nothing was read of the innermost one yet
};

}  // namespace

void read_json(ByteSource& text, JsonHandler& handler) { JsonReader(text, handler).read(); }

}  // namespace halftone
