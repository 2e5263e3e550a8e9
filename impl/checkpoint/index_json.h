// The JSON of a checkpoint's index: strings, integers, lists and objects, a few levels deep. Parsed values form a tree
// that is freed without an allocation, so that running out of memory stays an error; and only one item of a long list
// is in memory at a time, since the tree of a whole index takes fifty times its text. Plain data; one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/text/byte_source.h"

namespace halftone::checkpoint {

struct JsonValue {
  enum class Kind : uint8_t { kOther, kInteger, kText, kList, kObject };  // kOther: a kind that no index contains
  Kind kind = Kind::kOther;
  int64_t integer = 0;
  std::string text = {};
  std::vector<JsonValue> items = {};
  std::vector<std::string> keys = {};  // of an object's items

  // Null if this is no object, or has no such key.
  JsonValue* find(const char* key) noexcept;
};

// `item` is an item of a list that is a member of the top object; `object` holds the top object's members so far. The
// callee may move texts out of the item.
using TakeItem = std::function<void(JsonValue& object, const std::string& list, JsonValue& item)>;

// Reads an object of JSON in UTF-8. Passes each such item to `take` when it is complete, then drops it: these lists are
// empty in the result. Throws FORMAT if the text is no such object, has a key twice, is nested deeper than an index, or
// if an item is larger than any in an index. Exceptions of `take` pass through.
JsonValue parse_json(ByteSource& text, const TakeItem& take);

}  // namespace halftone::checkpoint
