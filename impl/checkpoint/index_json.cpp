#include "checkpoint/index_json.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/text/json_reader.h"

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

}  // namespace

JsonValue* JsonValue::find(const char* key) noexcept {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == key) return &items[i];
  }
  return nullptr;
}

JsonValue parse_json(ByteSource& text, const TakeItem& take) {
  JsonValue root;
  TreeBuilder builder(root, take, text.name());
  read_json(text, builder);
  return root;
}

}  // namespace halftone::checkpoint
