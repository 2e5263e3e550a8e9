#include "text.h"

#include <charconv>
#include <cmath>

namespace halftone_analyze {

std::string exact_text(double number) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr};
}

std::string short_text(double number) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::general, 3).ptr};
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
  return raw(name, '"' + std::string(value) + '"');
}

JsonObject& JsonObject::number(std::string_view name, double value) {
  return raw(name, std::isfinite(value) ? exact_text(value) : "null");
}

JsonObject& JsonObject::boolean(std::string_view name, bool value) { return raw(name, value ? "true" : "false"); }

}  // namespace halftone_analyze
