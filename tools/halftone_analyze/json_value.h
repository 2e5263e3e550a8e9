// Reads JSON (RFC 8259) that is small: a line of a run's record. Any bytes may come: what is no JSON is an error.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace halftone_analyze {

struct JsonValue {
  enum class Kind { kNull, kBoolean, kNumber, kText, kList, kObject };

  // The member of an object; null without one.
  const JsonValue* member(const std::string& name) const;

  Kind kind = Kind::kNull;
  double number = 0;  // of a boolean: 1 or 0
  std::string text;
  std::vector<JsonValue> list;
  std::map<std::string, JsonValue> members;  // of two with one name the last
};

// Throws std::runtime_error naming the byte of `text`.
JsonValue read_json(std::string_view text);

}  // namespace halftone_analyze
