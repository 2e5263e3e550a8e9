#include "checkpoint/index.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include "checkpoint/checksum.h"
#include "checkpoint/coverage.h"
#include "checkpoint/file_text.h"
#include "checkpoint/index_json.h"
#include "checkpoint/memory_file.h"
#include "checkpoint/safetensors_header.h"
#include "core/error.h"
#include "core/text/json_writer.h"

namespace halftone::checkpoint {

namespace {

constexpr const char* kFormatName = "halftone-checkpoint";
// The index ends with this and a checksum of everything before it.
constexpr const char kChecksumLead[] = ",\"checksum\":\"";
constexpr size_t kChecksumLength = sizeof kChecksumLead - 1 + 32 + 2;  // with the closing quote and brace
constexpr uint64_t kMaxIndexBytes = 1'000'000'000;
constexpr size_t kPieceBytes = 1 << 16;

// ---- Writing

void write(const IndexFile& file, JsonWriter& json) {
  json.begin('{');
  json.add("name", file.name);
  json.add("size", static_cast<int64_t>(file.size));
  json.add("header_xxh3", hexadecimal(file.header_checksum));
  json.end('}');
}

// A double is written as its bits: exact, and independent of the locale.
void write(const NamedScalar& scalar, JsonWriter& json) {
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

void write(const char* key, const Shape& sizes, JsonWriter& json) {
  json.begin(key, '[');
  for (int64_t size : sizes) json.add(size);
  json.end(']');
}

void write(const Box& box, JsonWriter& json) {
  json.begin("box", '{');
  write("view", box.view, json);
  write("begin", box.begin, json);
  write("size", box.size, json);
  json.end('}');
}

void write(const TensorPart& part, JsonWriter& json) {
  json.begin('{');
  json.add("file", static_cast<int64_t>(part.file));
  json.add("begin", part.begin);
  json.add("end", part.end);
  json.add("xxh3", hexadecimal(part.checksum));
  if (part.box) write(*part.box, json);
  json.end('}');
}

void write(const IndexTensor& tensor, JsonWriter& json) {
  json.begin('{');
  json.add("name", tensor.name);
  json.add("dtype", std::string(safetensors_name(tensor.dtype)));
  write("shape", tensor.shape, json);
  json.begin("parts", '[');
  for (const TensorPart& part : tensor.parts) write(part, json);
  json.end(']');
  json.end('}');
}

template <class Item>
void write(const char* key, const std::vector<Item>& items, JsonWriter& json) {
  json.begin(key, '[');
  for (const Item& item : items) write(item, json);
  json.end(']');
}

// ---- Reading. Every access names the member that is missing or of another kind.

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  [[noreturn]] void refuse(const char* what) const {
    fail(Code::kFormat, "", "%s is no sound index: %s", path_.c_str(), what);
  }

  JsonValue& member(JsonValue& object, const char* key) const {
    JsonValue* value = object.find(key);
    if (value == nullptr) refuse(key);
    return *value;
  }
  // Callers that keep the text move it: a copy of a name could take as much memory as the file.
  std::string& text(JsonValue& object, const char* key) const {
    JsonValue& value = member(object, key);
    if (value.kind != JsonValue::Kind::kText) refuse(key);
    return value.text;
  }
  int64_t integer(const JsonValue& value, const char* what) const {
    if (value.kind != JsonValue::Kind::kInteger) refuse(what);
    return value.integer;
  }
  // A size, an offset or a step.
  int64_t count(JsonValue& object, const char* key) const {
    const int64_t value = integer(member(object, key), key);
    if (value < 0) refuse(key);
    return value;
  }
  std::vector<JsonValue>& list(JsonValue& object, const char* key) const {
    JsonValue& value = member(object, key);
    if (value.kind != JsonValue::Kind::kList) refuse(key);
    return value.items;
  }
  uint64_t bits(JsonValue& object, const char* key) const {
    uint64_t value;
    if (!parse_hexadecimal(text(object, key), &value)) refuse(key);
    return value;
  }

  IndexFile file(JsonValue& json) const;
  IndexTensor tensor(JsonValue& json) const;
  NamedScalar scalar(JsonValue& json) const;

 private:
  DType dtype(JsonValue& json) const;
  Shape shape(JsonValue& json, const char* key) const;
  Box box(JsonValue& json) const;
  TensorPart part(JsonValue& json) const;

  const std::string& path_;
};

IndexFile Reader::file(JsonValue& json) const {
  return {.name = std::move(text(json, "name")),
          .size = static_cast<uint64_t>(count(json, "size")),
          .header_checksum = bits(json, "header_xxh3")};
}

DType Reader::dtype(JsonValue& json) const {
  const std::string& name = text(json, "dtype");
  for (int32_t value = kDTypeFirst; value <= kDTypeLast; ++value) {
    if (name == safetensors_name(static_cast<DType>(value))) return static_cast<DType>(value);
  }
  refuse("dtype");
}

Shape Reader::shape(JsonValue& json, const char* key) const {
  const std::vector<JsonValue>& sizes = list(json, key);
  if (sizes.size() > static_cast<size_t>(kMaxRank)) refuse(key);
  Shape shape;
  int64_t bytes = 8;
  for (const JsonValue& size : sizes) {
    const int64_t value = integer(size, key);
    if (value < 0 || __builtin_mul_overflow(bytes, value == 0 ? 1 : value, &bytes)) refuse(key);
    shape.push_back(value);
  }
  return shape;
}

Box Reader::box(JsonValue& json) const {
  if (json.kind != JsonValue::Kind::kObject) refuse("box");
  return {.view = shape(json, "view"), .begin = shape(json, "begin"), .size = shape(json, "size")};
}

TensorPart Reader::part(JsonValue& json) const {
  TensorPart part = {.file = static_cast<size_t>(count(json, "file")),
                     .begin = count(json, "begin"),
                     .end = count(json, "end"),
                     .checksum = bits(json, "xxh3")};
  if (JsonValue* value = json.find("box")) part.box = std::make_shared<const Box>(box(*value));
  return part;
}

IndexTensor Reader::tensor(JsonValue& json) const {
  IndexTensor tensor{
      .name = std::move(text(json, "name")), .dtype = dtype(json), .shape = shape(json, "shape"), .parts = {}};
  for (JsonValue& item : list(json, "parts")) {
    tensor.parts.push_back(part(item));
    if (tensor.parts.back().end < tensor.parts.back().begin) refuse("parts");
  }
  if (tensor.parts.empty()) refuse("parts");
  return tensor;
}

NamedScalar Reader::scalar(JsonValue& json) const {
  std::string name = std::move(text(json, "name"));
  if (const JsonValue* value = json.find("i64")) return {std::move(name), integer(*value, "i64")};
  if (json.find("f64") != nullptr) return {std::move(name), std::bit_cast<double>(bits(json, "f64"))};
  return {std::move(name), std::move(text(json, "text"))};
}

void require_files(const Index& index, const Reader& reader) {
  for (size_t i = 0; i < index.files.size(); ++i) {
    const std::string expected = file_name(static_cast<int64_t>(i), static_cast<int64_t>(index.files.size()));
    if (index.files[i].name != expected) reader.refuse("files");
  }
}

// No file may be used twice for a tensor: repeating a small part could fill any memory.
bool are_in_distinct_files(const std::vector<TensorPart>& parts) {
  std::vector<size_t> files;
  for (const TensorPart& part : parts) files.push_back(part.file);
  std::sort(files.begin(), files.end());
  return std::adjacent_find(files.begin(), files.end()) == files.end();
}

void require_parts(const IndexTensor& tensor, size_t files, const Reader& reader) {
  for (const TensorPart& part : tensor.parts) {
    if (part.file >= files) reader.refuse("file");
  }
  const bool is_sorted = std::is_sorted(tensor.parts.begin(), tensor.parts.end(), comes_before);
  if (!is_sorted || !are_in_distinct_files(tensor.parts)) reader.refuse("parts");
  const std::string fault = fault_of_coverage(tensor);
  if (!fault.empty()) reader.refuse(fault.c_str());
}

// Sorts the names: a hash table could be filled with names that collide.
void require_distinct_names(const Index& index, const Reader& reader) {
  std::vector<std::string_view> names;
  for (const IndexTensor& tensor : index.tensors) names.push_back(tensor.name);
  for (const NamedScalar& scalar : index.scalars) names.push_back(scalar.name);
  std::sort(names.begin(), names.end());
  if (std::adjacent_find(names.begin(), names.end()) != names.end()) reader.refuse("a name is there twice");
  const auto is_bad = [](std::string_view name) { return name.empty() || name.find('\0') != std::string_view::npos; };
  if (std::any_of(names.begin(), names.end(), is_bad)) reader.refuse("name");
}

// ---- The text as a whole

// Compares the text with the checksum at its end, so that damage is found before anything is parsed. Returns another
// checksum, of all bytes: the text is read again to be parsed, and must not have changed by then.
uint64_t require_checksum(const File& file, const Reader& reader) {
  if (file.size() < kChecksumLength) reader.refuse("it is too short");
  Checksum whole;
  TextChecksum sum;
  std::vector<char> piece(kPieceBytes);
  const uint64_t length = file.size() - kChecksumLength;
  for (uint64_t position = 0; position < length; position += kPieceBytes) {
    const auto size = static_cast<size_t>(std::min<uint64_t>(kPieceBytes, length - position));
    file.read(position, piece.data(), size);
    whole.add(piece.data(), size);
    sum.add(piece.data(), size);
  }
  std::string end(kChecksumLength, '\0');
  file.read(length, end.data(), end.size());
  whole.add(end.data(), end.size());
  if (end != kChecksumLead + sum.value() + "\"}") reader.refuse("its checksum does not match");
  return whole.value();
}

void require_version(JsonValue& json, const Reader& reader, const std::string& path) {
  if (reader.text(json, "format") != kFormatName) reader.refuse("format");
  const int64_t version = reader.count(json, "version");
  if (version > kFormatVersion) {
    fail(Code::kUnsupported, "", "%s has format version %lld, this library reads up to %lld", path.c_str(),
         static_cast<long long>(version), static_cast<long long>(kFormatVersion));
  }
}

// The index of all ranks or of one: what they have in common is checked.
Index parse(const File& file, const Reader& reader) {
  const std::string& path = file.path();
  if (file.size() > kMaxIndexBytes) fail(Code::kFormat, "", "%s is no index: it is too large", path.c_str());
  const uint64_t sum = require_checksum(file, reader);
  Index index;
  // Format and version come before the lists, whose items a newer version may have changed.
  bool has_version = false;
  const auto take = [&](JsonValue& object, const std::string& list, JsonValue& item) {
    if (!has_version) require_version(object, reader, path);
    has_version = true;
    if (list == "files") index.files.push_back(reader.file(item));
    if (list == "scalars") index.scalars.push_back(reader.scalar(item));
    if (list == "tensors") index.tensors.push_back(reader.tensor(item));
  };
  // Nothing here relies on the checksum: an attacker can compute it.
  FileText text(file, 0, file.size());
  JsonValue json = parse_json(text, take);
  if (text.checksum() != sum) reader.refuse("it changed while it was read");
  require_version(json, reader, path);
  index.step = reader.count(json, "step");
  index.save_id = std::move(reader.text(json, "save_id"));
  for (const char* list : {"files", "scalars", "tensors"}) reader.list(json, list);
  require_distinct_names(index, reader);
  return index;
}

}  // namespace

std::string file_name(int64_t rank, int64_t world_size) {
  return "rank-" + std::to_string(rank) + "-of-" + std::to_string(world_size) + ".safetensors";
}

std::string serialize(const Index& index) {
  const auto has_box = [](const TensorPart& part) { return part.box != nullptr; };
  const bool has_boxes = std::any_of(index.tensors.begin(), index.tensors.end(), [&](const IndexTensor& tensor) {
    return std::any_of(tensor.parts.begin(), tensor.parts.end(), has_box);
  });
  JsonWriter json;
  json.begin('{');
  json.add("format", std::string(kFormatName));
  json.add("version", has_boxes ? kFormatVersion : int64_t{1});
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
  Index index = parse(File::open(io, path), reader);
  require_files(index, reader);
  for (const IndexTensor& tensor : index.tensors) require_parts(tensor, index.files.size(), reader);
  return index;
}

Index parse_rank_index(const std::string& text) {
  const MemoryFile memory(text.data(), text.size());
  const File file = File::open(memory.io(), "the index of a rank");
  const Reader reader(file.path());
  Index index = parse(file, reader);
  for (const IndexTensor& tensor : index.tensors) {
    if (tensor.parts.size() != 1) reader.refuse("parts");
  }
  return index;
}

}  // namespace halftone::checkpoint
