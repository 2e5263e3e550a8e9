#include "core/text/json_writer.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "core/error.h"
#include "core/text/utf8.h"

namespace halftone {

namespace {

// The two characters that JSON escapes, and control characters.
void append_escaped(char c, std::string& text) {
  constexpr char kControls[] = "\b\t\n\f\r", kLetters[] = "btnfr";
  for (size_t i = 0; i < sizeof kLetters - 1; ++i) {
    if (c == kControls[i]) return void(text.append({'\\', kLetters[i]}));
  }
  if (static_cast<unsigned char>(c) < 0x20) {
    char digits[8];
    std::snprintf(digits, sizeof digits, "\\u%04x", static_cast<unsigned>(c));
    text += digits;
    return;
  }
  if (c == '"' || c == '\\') text += '\\';
  text += c;
}

// No locale changes what to_chars writes.
template <class Number>
std::string digits_of(Number value) {
  if (!std::isfinite(value)) return "null";
  char digits[32];
  return std::string(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

}  // namespace

void JsonWriter::begin(char bracket) {
  separate();
  text_ += bracket;
}

void JsonWriter::begin(const char* key, char bracket) {
  name(key);
  text_ += bracket;
}

void JsonWriter::add(const char* key, int64_t value) {
  name(key);
  text_ += std::to_string(value);
}

void JsonWriter::add(const char* key, const std::string& value) {
  name(key);
  text_ += quoted(value);
}

void JsonWriter::add(int64_t item) {
  separate();
  text_ += std::to_string(item);
}

void JsonWriter::add_number(const char* key, float value) {
  name(key);
  text_ += digits_of(value);
}

void JsonWriter::add_number(const char* key, double value) {
  name(key);
  text_ += digits_of(value);
}

void JsonWriter::separate() {
  if (!text_.empty() && text_.back() != '{' && text_.back() != '[') text_ += ',';
}

void JsonWriter::name(const char* key) {
  separate();
  text_.append("\"").append(key).append("\":");
}

std::string quoted(const std::string& text) {
  if (!is_utf8(text.data(), text.size())) {
    fail(Code::kFormat, "", "a name or a text for a JSON file is no UTF-8");
  }
  std::string result = "\"";
  for (char c : text) append_escaped(c, result);
  return result += '"';
}

}  // namespace halftone
