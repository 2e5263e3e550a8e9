#include "checkpoint/index.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <string_view>
#include <utility>

#include "checkpoint/checksum.h"
#include "checkpoint/json.h"
#include "checkpoint/safetensors_header.h"
#include "core/error.h"

namespace halftone::checkpoint {

namespace {

constexpr const char* kFormatName = "halftone-checkpoint";
// The index ends so, and the checksum is of everything before.
constexpr const char kChecksumLead[] = ",\"checksum\":\"";
constexpr size_t kChecksumLength = sizeof kChecksumLead - 1 + 32 + 2;  // with the closing quote and brace
constexpr uint64_t kMaxIndexBytes = 1'000'000'000;

// ---- Writing

void write(const IndexFile& file, JsonText& json) {
  json.begin('{');
  json.add("name", file.name);
  json.add("size", static_cast<int64_t>(file.size));
  json.add("header_xxh3", hexadecimal(file.header_checksum));
  json.end('}');
}

// A double by its bits: exact, and the same under every locale.
void write(const NamedScalar& scalar, JsonText& json) {
  json.begin('{');
  json.add("name", scalar.name);
  if (const auto* integer = std::get_if<int64_t>(&scalar.value)) {
    json.add("i64", *integer);
  } else if (const auto* number = std::get_if<double>(&scalar.value)) {
    json.add("f64", hexadecimal(std::bit_cast<uint64_t>(*number)));
  } else {
    json.add("text", std::get<std::string>(scalar.value));
  }
  json.end('}');
}

void write(const TensorPart& part, JsonText& json) {
  json.begin('{');
  json.add("file", static_cast<int64_t>(part.file));
  json.add("begin", part.begin);
  json.add("end", part.end);
  json.add("xxh3", hexadecimal(part.checksum));
  json.end('}');
}

void write(const IndexTensor& tensor, JsonText& json) {
  json.begin('{');
  json.add("name", tensor.name);
  json.add("dtype", std::string(safetensors_name(tensor.dtype)));
  json.begin("shape", '[');
  for (int64_t size : tensor.shape) json.add(size);
  json.end(']');
  json.begin("parts", '[');
  for (const TensorPart& part : tensor.parts) write(part, json);
  json.end(']');
  json.end('}');
}

template <class Item>
void write(const char* key, const std::vector<Item>& items, JsonText& json) {
  json.begin(key, '[');
  for (const Item& item : items) write(item, json);
  json.end(']');
}

// ---- Reading. Every access says what is missing where it is not there or of another type.

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  [[noreturn]] void refuse(const char* what) const {
    fail(Code::kFormat, "", "%s is no sound index: %s", path_.c_str(), what);
  }

  const JsonValue& member(const JsonValue& object, const char* key) const {
    const JsonValue* value = object.find(key);
    if (value == nullptr) refuse(key);
    return *value;
  }
  std::string text(const JsonValue& object, const char* key) const {
    const JsonValue& value = member(object, key);
    if (value.kind != JsonValue::Kind::kText) refuse(key);
    return value.text;
  }
  int64_t integer(const JsonValue& value, const char* what) const {
    if (value.kind != JsonValue::Kind::kInteger) refuse(what);
    return value.integer;
  }
  // Of sizes, offsets and steps.
  int64_t count(const JsonValue& object, const char* key) const {
    const int64_t value = integer(member(object, key), key);
    if (value < 0) refuse(key);
    return value;
  }
  const std::vector<JsonValue>& list(const JsonValue& object, const char* key) const {
    const JsonValue& value = member(object, key);
    if (value.kind != JsonValue::Kind::kList) refuse(key);
    return value.items;
  }
  uint64_t bits(const JsonValue& object, const char* key) const {
    uint64_t value;
    if (!parse_hexadecimal(text(object, key), &value)) refuse(key);
    return value;
  }

  IndexFile file(const JsonValue& json) const;
  IndexTensor tensor(const JsonValue& json) const;
  NamedScalar scalar(const JsonValue& json) const;

 private:
  DType dtype(const JsonValue& json) const;
  Shape shape(const JsonValue& json) const;
  TensorPart part(const JsonValue& json) const;

  const std::string& path_;
};

IndexFile Reader::file(const JsonValue& json) const {
  return {.name = text(json, "name"),
          .size = static_cast<uint64_t>(count(json, "size")),
          .header_checksum = bits(json, "header_xxh3")};
}

DType Reader::dtype(const JsonValue& json) const {
  const std::string name = text(json, "dtype");
  for (int32_t value = kDTypeFirst; value <= kDTypeLast; ++value) {
    if (name == safetensors_name(static_cast<DType>(value))) return static_cast<DType>(value);
  }
  refuse("dtype");
}

Shape Reader::shape(const JsonValue& json) const {
  const std::vector<JsonValue>& sizes = list(json, "shape");
  if (sizes.size() > static_cast<size_t>(kMaxRank)) refuse("shape");
  Shape shape;
  int64_t bytes = 8;
  for (const JsonValue& size : sizes) {
    const int64_t value = integer(size, "shape");
    if (value < 0 || __builtin_mul_overflow(bytes, value == 0 ? 1 : value, &bytes)) refuse("shape");
    shape.push_back(value);
  }
  return shape;
}

TensorPart Reader::part(const JsonValue& json) const {
  return {.file = static_cast<size_t>(count(json, "file")),
          .begin = count(json, "begin"),
          .end = count(json, "end"),
          .checksum = bits(json, "xxh3")};
}

IndexTensor Reader::tensor(const JsonValue& json) const {
  IndexTensor tensor{.name = text(json, "name"), .dtype = dtype(json), .shape = shape(json), .parts = {}};
  int64_t position = 0;
  for (const JsonValue& item : list(json, "parts")) {
    const TensorPart next = part(item);
    if (next.begin != position || next.end < next.begin) refuse("parts");
    // A file holds a tensor once. Taken again and again, a small one would fill any memory.
    if (!tensor.parts.empty() && next.file <= tensor.parts.back().file) refuse("parts");
    position = next.end;
    tensor.parts.push_back(next);
  }
  if (position != numel(tensor.shape) || tensor.parts.empty()) refuse("parts");
  return tensor;
}

NamedScalar Reader::scalar(const JsonValue& json) const {
  std::string name = text(json, "name");
  if (const JsonValue* value = json.find("i64")) return {std::move(name), integer(*value, "i64")};
  if (json.find("f64") != nullptr) return {std::move(name), std::bit_cast<double>(bits(json, "f64"))};
  return {std::move(name), text(json, "text")};
}

void require_files(const Index& index, const Reader& reader) {
  for (size_t i = 0; i < index.files.size(); ++i) {
    const std::string expected = file_name(static_cast<int64_t>(i), static_cast<int64_t>(index.files.size()));
    if (index.files[i].name != expected) reader.refuse("files");
  }
  for (const IndexTensor& tensor : index.tensors) {
    if (tensor.parts.back().file >= index.files.size()) reader.refuse("file");  // the parts' files ascend
  }
}

// By sorting: a table of hashes can be filled with names that collide.
void require_distinct_names(const Index& index, const Reader& reader) {
  std::vector<std::string_view> names;
  for (const IndexTensor& tensor : index.tensors) names.push_back(tensor.name);
  for (const NamedScalar& scalar : index.scalars) names.push_back(scalar.name);
  std::sort(names.begin(), names.end());
  if (std::adjacent_find(names.begin(), names.end()) != names.end()) reader.refuse("a name stands twice");
  const auto is_bad = [](std::string_view name) { return name.empty() || name.find('\0') != std::string_view::npos; };
  if (std::any_of(names.begin(), names.end(), is_bad)) reader.refuse("name");
}

// ---- The text as a whole

std::string read_text_of(const Io& io, const std::string& path) {
  const File file = File::open(io, path);
  if (file.size() > kMaxIndexBytes) fail(Code::kFormat, "", "%s is no index: it is too large", path.c_str());
  std::string text(static_cast<size_t>(file.size()), '\0');
  file.read(0, text.data(), text.size());
  return text;
}

// Damage is found here, before anything is parsed.
void require_checksum(const std::string& text, const Reader& reader) {
  if (text.size() < kChecksumLength) reader.refuse("it is too short");
  const size_t length = text.size() - kChecksumLength;
  const std::string expected = kChecksumLead + checksum_of_text(text.data(), length) + "\"}";
  if (text.compare(length, std::string::npos, expected) != 0) reader.refuse("its checksum does not match");
}

void require_version(const JsonValue& json, const Reader& reader, const std::string& path) {
  if (reader.text(json, "format") != kFormatName) reader.refuse("format");
  const int64_t version = reader.count(json, "version");
  if (version > kFormatVersion) {
    fail(Code::kUnsupported, "", "%s has format version %lld, this library reads up to %lld", path.c_str(),
         static_cast<long long>(version), static_cast<long long>(kFormatVersion));
  }
}

}  // namespace

std::string file_name(int64_t rank, int64_t world_size) {
  return "rank-" + std::to_string(rank) + "-of-" + std::to_string(world_size) + ".safetensors";
}

std::string serialize(const Index& index) {
  JsonText json;
  json.begin('{');
  json.add("format", std::string(kFormatName));
  json.add("version", kFormatVersion);
  json.add("step", index.step);
  json.add("save_id", index.save_id);
  write("files", index.files, json);
  write("scalars", index.scalars, json);
  write("tensors", index.tensors, json);
  const std::string& text = json.text();
  return text + kChecksumLead + checksum_of_text(text.data(), text.size()) + "\"}";
}

Index read_index(const Io& io, const std::string& path) {
  const Reader reader(path);
  const std::string text = read_text_of(io, path);
  require_checksum(text, reader);
  Index index;
  // Format and version come before the lists, whose items a newer version may have changed.
  bool has_version = false;
  const auto take = [&](const JsonValue& object, const std::string& list, const JsonValue& item) {
    if (!has_version) require_version(object, reader, path);
    has_version = true;
    if (list == "files") index.files.push_back(reader.file(item));
    if (list == "scalars") index.scalars.push_back(reader.scalar(item));
    if (list == "tensors") index.tensors.push_back(reader.tensor(item));
  };
  // Damage would not come so far, but an attacker can compute a checksum.
  const std::optional<JsonValue> json = parse_json(text, take);
  if (!json) reader.refuse("it is no JSON object, or not made as an index is");
  require_version(*json, reader, path);
  index.step = reader.count(*json, "step");
  index.save_id = reader.text(*json, "save_id");
  for (const char* list : {"files", "scalars", "tensors"}) reader.list(*json, list);
  require_files(index, reader);
  require_distinct_names(index, reader);
  return index;
}

}  // namespace halftone::checkpoint
