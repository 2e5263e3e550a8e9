#include "checkpoint/json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"

namespace halftone::checkpoint {

namespace {

constexpr size_t kMaxDepth = 8;
constexpr size_t kMaxMembers = 64;
// In memory at once: a tensor in the files of 100,000 ranks has half as many.
constexpr size_t kMaxValues = size_t{1} << 20;

// Builds the tree from the parser's events. An open value is the last item of the one around it, which does not grow
// meanwhile, so pointers to open values hold.
class TreeBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(JsonValue& root, const TakeItem& take) : root_(root), take_(take) { open_.reserve(kMaxDepth); }

  bool null() override { return add({.kind = JsonValue::Kind::kOther}); }
  bool boolean(bool) override { return null(); }
  bool binary(binary_t&) override { return false; }
  bool number_float(number_float_t, const string_t&) override { return null(); }
  bool number_integer(number_integer_t value) override {
    return add({.kind = JsonValue::Kind::kInteger, .integer = value});
  }
  bool number_unsigned(number_unsigned_t value) override {
    return value > INT64_MAX ? null() : number_integer(static_cast<int64_t>(value));
  }
  bool string(string_t& value) override { return add({.kind = JsonValue::Kind::kText, .text = std::move(value)}); }
  bool start_object(size_t) override { return open(JsonValue::Kind::kObject); }
  bool start_array(size_t) override { return open(JsonValue::Kind::kList); }
  bool key(string_t& value) override {
    JsonValue& object = *open_.back();
    if (object.keys.size() == kMaxMembers || object.find(value.c_str()) != nullptr) return false;
    object.keys.push_back(std::move(value));
    return true;
  }
  bool end_object() override {
    open_.pop_back();
    if (is_in_list()) hand_over();
    return true;
  }
  bool end_array() override { return end_object(); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  // Whether the innermost open value is a list that is a member of the root.
  bool is_in_list() const noexcept { return open_.size() == 2 && open_.back()->kind == JsonValue::Kind::kList; }

  // Nothing but an object stands at the top.
  bool append(JsonValue value) {
    if (open_.empty() ? value.kind != JsonValue::Kind::kObject : values_ == kMaxValues) return false;
    if (is_in_list()) values_before_item_ = values_;
    ++values_;
    (open_.empty() ? root_ : open_.back()->items.emplace_back()) = std::move(value);
    return true;
  }
  bool add(JsonValue value) {
    if (!append(std::move(value))) return false;
    if (is_in_list()) hand_over();
    return true;
  }
  bool open(JsonValue::Kind kind) {
    if (open_.size() == kMaxDepth || !append({.kind = kind})) return false;
    open_.push_back(open_.empty() ? &root_ : &open_.back()->items.back());
    return true;
  }
  void hand_over() {
    std::vector<JsonValue>& items = open_.back()->items;
    take_(root_, root_.keys.back(), items.back());
    items.pop_back();
    values_ = values_before_item_;
  }

  JsonValue& root_;
  const TakeItem& take_;
  std::vector<JsonValue*> open_;
  size_t values_ = 0;
  size_t values_before_item_ = 0;
};

}  // namespace

const JsonValue* JsonValue::find(const char* key) const noexcept {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == key) return &items[i];
  }
  return nullptr;
}

std::optional<JsonValue> parse_json(const std::string& text, const TakeItem& take) {
  JsonValue root;
  TreeBuilder builder(root, take);
  if (!nlohmann::json::sax_parse(text, &builder)) return std::nullopt;
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
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    fail(Code::kFormat, "", "a name or a text for a checkpoint or a safetensors file is no UTF-8");
  }
}

}  // namespace halftone::checkpoint
