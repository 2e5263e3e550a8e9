// JSON as the index of a checkpoint needs it: texts, integers, lists and objects, a few levels deep. A tree of its own,
// since that of nlohmann's parser allocates when it is destroyed, and would end the process where memory has run out;
// and never the tree of a whole text, which takes fifty times its memory. Plain data; one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace halftone::checkpoint {

struct JsonValue {
  enum class Kind : uint8_t { kOther, kInteger, kText, kList, kObject };  // other: what no index holds
  Kind kind = Kind::kOther;
  int64_t integer = 0;
  std::string text = {};
  std::vector<JsonValue> items = {};
  std::vector<std::string> keys = {};  // of an object's items

  // Null where this is no object, or has no such key.
  const JsonValue* find(const char* key) const noexcept;
};

// An item of a list that is a member of the object at the top, whose members so far are in `object`.
using TakeItem = std::function<void(const JsonValue& object, const std::string& list, const JsonValue& item)>;

// Hands each such item over as soon as it is whole, and forgets it: the lists of what is answered are empty. Nothing
// where the text is no object of JSON in UTF-8, has a key twice, is nested deeper than an index is, or an item is
// larger than any in an index. What `take` throws goes through.
std::optional<JsonValue> parse_json(const std::string& text, const TakeItem& take);

// Writes JSON from front to back, without a space.
class JsonText {
 public:
  void begin(char bracket);  // { or [, as an item or at the top
  void begin(const char* key, char bracket);
  void end(char bracket) { text_ += bracket; }
  void add(const char* key, int64_t value);
  void add(const char* key, const std::string& value);
  void add(int64_t item);

  const std::string& text() const noexcept { return text_; }

 private:
  void separate();
  void name(const char* key);

  std::string text_;
};

// A text in quotes. Throws FORMAT where it is no UTF-8.
std::string quoted(const std::string& text);

}  // namespace halftone::checkpoint
