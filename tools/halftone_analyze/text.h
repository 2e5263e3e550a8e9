// Numbers as text, rows of tables, and objects of JSON.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace halftone_analyze {

// The shortest text that reads back as the number: "0.25", "1e-04".
std::string exact_text(double number);
// Three digits, for tables.
std::string short_text(double number);
// A power of two: "2^15".
std::string power_text(double power_of_two);

// Text as JSON has it between quotes. Terminals can show it, too: no byte of it controls one. Bytes that are no UTF-8
// become U+FFFD.
std::string escaped(std::string_view text);

// A row of a table: the columns have 11 characters, but for the first, and no spaces at the end.
std::string table_row(const std::string& first, int width, std::initializer_list<std::string> cells);

std::string json_list(const std::vector<std::string>& elements, std::string_view separator = ", ");

// {"name": value, ...}; names need no escapes.
class JsonObject {
 public:
  JsonObject& text(std::string_view name, std::string_view value);
  JsonObject& number(std::string_view name, double value);  // null if it is not finite
  JsonObject& whole(std::string_view name, int64_t value) { return raw(name, std::to_string(value)); }
  JsonObject& boolean(std::string_view name, bool value);
  JsonObject& raw(std::string_view name, std::string_view json);
  std::string done() const { return members_ + "}"; }

 private:
  std::string members_ = "{";
};

}  // namespace halftone_analyze
