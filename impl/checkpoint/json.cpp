#include "checkpoint/json.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "checkpoint/json_reader.h"
#include "core/error.h"
#include "core/utf8.h"

namespace halftone::checkpoint {

namespace {

constexpr size_t kMaxMembers = 64;
// The most values in memory at once. A tensor that 100,000 ranks wrote has half as many.
constexpr size_t kMaxValues = size_t{1} << 20;

// Builds the tree. An open list or object is the last item of the one around it, which does not grow while it is open,
// so pointers to open values stay valid.
class TreeBuilder final : public JsonHandler {
 public:
  TreeBuilder(JsonValue& root, const TakeItem& take, const std::string& path) : root_(root), take_(take), path_(path) {}

  void literal() override { add({.kind = JsonValue::Kind::kOther}); }
  void other_number() override { literal(); }
  void integer(bool is_negative, uint64_t magnitude) override {
    if (magnitude > uint64_t{INT64_MAX} + (is_negative ? 1 : 0)) return other_number();
    const uint64_t bits = is_negative ? 0 - magnitude : magnitude;
    add({.kind = JsonValue::Kind::kInteger, .integer = static_cast<int64_t>(bits)});
  }
  void text(std::string value) override { add({.kind = JsonValue::Kind::kText, .text = std::move(value)}); }
  void begin_object() override { open(JsonValue::Kind::kObject); }
  void begin_list() override { open(JsonValue::Kind::kList); }
  void key(std::string value) override {
    std::vector<std::string>& keys = open_.back()->keys;
    if (keys.size() == kMaxMembers) refuse("an object has too many members");
    if (std::find(keys.begin(), keys.end(), value) != keys.end()) refuse("a key is there twice");
    keys.push_back(std::move(value));
  }
  void end_object() override {
    open_.pop_back();
    if (is_in_list()) hand_over();
  }
  void end_list() override { end_object(); }

 private:
  [[noreturn]] void refuse(const char* fault) const {
    fail(Code::kFormat, "", "%s is no sound index: %s", path_.c_str(), fault);
  }

  // True if the innermost open value is a list that is a member of the root.
  bool is_in_list() const noexcept { return open_.size() == 2 && open_.back()->kind == JsonValue::Kind::kList; }

  void append(JsonValue value) {
    if (open_.empty() && value.kind != JsonValue::Kind::kObject) refuse("it is no JSON object");
    if (values_ == kMaxValues) refuse("an item has too many values");
    if (is_in_list()) values_before_item_ = values_;
    ++values_;
    (open_.empty() ? root_ : open_.back()->items.emplace_back()) = std::move(value);
  }
  void add(JsonValue value) {
    append(std::move(value));
    if (is_in_list()) hand_over();
  }
  void open(JsonValue::Kind kind) {
    append({.kind = kind});
    open_.push_back(open_.empty() ? &root_ : &open_.back()->items.back());
  }
  void hand_over() {
    std::vector<JsonValue>& items = open_.back()->items;
    take_(root_, root_.keys.back(), items.back());
    items.pop_back();
    values_ = values_before_item_;
  }

  JsonValue& root_;
  const TakeItem& take_;
  const std::string& path_;
  std::vector<JsonValue*> open_;
  size_t values_ = 0;
  size_t values_before_item_ = 0;
};

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

}  // namespace

JsonValue* JsonValue::find(const char* key) noexcept {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == key) return &items[i];
  }
  return nullptr;
}

JsonValue parse_json(FileText& text, const TakeItem& take) {
  JsonValue root;
  TreeBuilder builder(root, take, text.path());
  read_json(text, builder);
  return root;
}

void JsonText::begin(char bracket) {
  separate();
  text_ += bracket;
}

void JsonText::begin(const char* key, char bracket) {
  name(key);
  text_ += bracket;
}

void JsonText::add(const char* key, int64_t value) {
  name(key);
  text_ += std::to_string(value);
}

void JsonText::add(const char* key, const std::string& value) {
  name(key);
  text_ += quoted(value);
}

void JsonText::add(int64_t item) {
  separate();
  text_ += std::to_string(item);
}

void JsonText::separate() {
  if (!text_.empty() && text_.back() != '{' && text_.back() != '[') text_ += ',';
}

void JsonText::name(const char* key) {
  separate();
  text_.append("\"").append(key).append("\":");
}

std::string quoted(const std::string& text) {
  if (!is_utf8(text.data(), text.size())) {
    fail(Code::kFormat, "", "a name or a text for a checkpoint or a safetensors file is no UTF-8");
  }
  std::string result = "\"";
  for (char c : text) append_escaped(c, result);
  return result += '"';
}

}  // namespace halftone::checkpoint
