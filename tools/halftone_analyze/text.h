// Numbers as text, and objects of JSON.
#pragma once

#include <string>
#include <string_view>

namespace halftone_analyze {

// The shortest text that reads back as the number: "0.25", "1e-04".
std::string exact_text(double number);
// Three digits, for tables.
std::string short_text(double number);

// {"name": value, ...}; names and texts need no escapes.
class JsonObject {
 public:
  JsonObject& text(std::string_view name, std::string_view value);
  JsonObject& number(std::string_view name, double value);  // null if it is not finite
  JsonObject& boolean(std::string_view name, bool value);
  JsonObject& raw(std::string_view name, std::string_view json);
  std::string done() const { return members_ + "}"; }

 private:
  std::string members_ = "{";
};

}  // namespace halftone_analyze
