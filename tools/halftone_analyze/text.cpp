#include "text.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace halftone_analyze {
namespace {

// The number of bytes of the character at the front of a text that is not empty; 0: it is no UTF-8.
size_t character_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return 1;
  const size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and beyond U+10FFFF.
  const bool is_wrong = (byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xed && byte(1) >= 0xa0) ||
                        (byte(0) == 0xf0 && byte(1) < 0x90) || (byte(0) == 0xf4 && byte(1) >= 0x90);
  return is_wrong ? 0 : length;
}

}  // namespace

std::string exact_text(double number) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr};
}

std::string short_text(double number) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::general, 3).ptr};
}

std::string power_text(double power_of_two) {
  return std::string("2^").append(std::to_string(std::ilogb(power_of_two)));
}

std::string escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t length = character_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    const auto last = static_cast<unsigned char>(text[length == 0 ? 0 : length - 1]);
    // Controls: U+0000 to U+001F, U+007F, and U+0080 to U+009F, which have two bytes.
    const bool is_control = length == 1 ? first < 0x20 || first == 0x7f : first == 0xc2 && last < 0xa0;
    if (length == 0) {
      result += "\\ufffd";
    } else if (is_control) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", last);
      result += code;
    } else {
      if (first == '"' || first == '\\') result += '\\';
      result += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

std::string table_row(const std::string& first, int width, std::initializer_list<std::string> cells) {
  std::string line = first + std::string(static_cast<size_t>(width) - first.size(), ' ');
  for (const std::string& cell : cells) line += std::string(cell.size() < 11 ? 11 - cell.size() : 1, ' ') + cell;
  return line + "\n";
}

std::string json_list(const std::vector<std::string>& elements, std::string_view separator) {
  std::string list;
  for (const std::string& element : elements) list.append(list.empty() ? "" : separator).append(element);
  return "[" + list + "]";
}

JsonObject& JsonObject::raw(std::string_view name, std::string_view json) {
  if (members_.size() > 1) members_ += ", ";
  members_ += '"';
  members_ += name;
  members_ += "\": ";
  members_ += json;
  return *this;
}

JsonObject& JsonObject::text(std::string_view name, std::string_view value) {
  return raw(name, '"' + escaped(value) + '"');
}

JsonObject& JsonObject::number(std::string_view name, double value) {
  return raw(name, std::isfinite(value) ? exact_text(value) : "null");
}

JsonObject& JsonObject::boolean(std::string_view name, bool value) { return raw(name, value ? "true" : "false"); }

}  // namespace halftone_analyze
