#include "checkpoint/json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"

namespace halftone::checkpoint {

namespace {

constexpr size_t kMaxDepth = 8;

// Builds the tree from the parser's events. An open value is the last item of the one around it, which does not grow
// meanwhile, so pointers to open values hold.
class TreeBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit TreeBuilder(JsonValue& root) : root_(root) { open_.reserve(kMaxDepth); }

  bool null() override { return add(JsonValue::Kind::kOther) != nullptr; }
  bool boolean(bool) override { return null(); }
  bool binary(binary_t&) override { return false; }
  bool number_float(number_float_t, const string_t&) override { return null(); }
  bool number_integer(number_integer_t value) override {
    add(JsonValue::Kind::kInteger)->integer = value;
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    return value > INT64_MAX ? null() : number_integer(static_cast<int64_t>(value));
  }
  bool string(string_t& value) override {
    add(JsonValue::Kind::kText)->text = std::move(value);
    return true;
  }
  bool start_object(size_t) override { return open(JsonValue::Kind::kObject); }
  bool start_array(size_t) override { return open(JsonValue::Kind::kList); }
  bool key(string_t& value) override {
    open_.back()->keys.push_back(std::move(value));
    return true;
  }
  bool end_object() override {
    open_.pop_back();
    return true;
  }
  bool end_array() override { return end_object(); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  JsonValue* add(JsonValue::Kind kind) {
    JsonValue* value = open_.empty() ? &root_ : &open_.back()->items.emplace_back();
    value->kind = kind;
    return value;
  }
  bool open(JsonValue::Kind kind) {
    if (open_.size() == kMaxDepth) return false;
    open_.push_back(add(kind));
    return true;
  }

  JsonValue& root_;
  std::vector<JsonValue*> open_;
};

}  // namespace

const JsonValue* JsonValue::find(const char* key) const noexcept {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == key) return &items[i];
  }
  return nullptr;
}

std::optional<JsonValue> parse_json(const std::string& text) {
  JsonValue root;
  TreeBuilder builder(root);
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
