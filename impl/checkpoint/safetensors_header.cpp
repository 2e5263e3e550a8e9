#include "checkpoint/safetensors_header.h"

#include <algorithm>
#include <numeric>

#include "checkpoint/checksum.h"
#include "checkpoint/file_text.h"
#include "checkpoint/header_parser.h"
#include "core/error.h"
#include "core/text/json_reader.h"
#include "core/text/json_writer.h"

namespace halftone::checkpoint {

namespace {

constexpr size_t kLengthBytes = 8;

uint64_t little_endian(const unsigned char* bytes) {
  uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | bytes[i];
  return value;
}

uint64_t read_length(const File& file) {
  unsigned char bytes[kLengthBytes];
  if (file.size() < sizeof bytes) {
    fail(Code::kFormat, "", "%s is no safetensors file: it has %llu bytes", file.path().c_str(),
         static_cast<unsigned long long>(file.size()));
  }
  file.read(0, bytes, sizeof bytes);
  const uint64_t length = little_endian(bytes);
  if (length > kMaxHeaderBytes || length > file.size() - sizeof bytes || length < 2) {
    fail(Code::kFormat, "", "%s is no safetensors file, or was cut off: a header of %llu bytes in a file of %llu",
         file.path().c_str(), static_cast<unsigned long long>(length), static_cast<unsigned long long>(file.size()));
  }
  return length;
}

// In most files the tensors are in order already; std::stable_sort would allocate memory for all of them again.
void order_by_bytes(SafetensorsHeader& header) {
  const auto is_before = [](const TensorEntry& a, const TensorEntry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  };
  std::vector<TensorEntry>& tensors = header.tensors;
  if (std::is_sorted(tensors.begin(), tensors.end(), is_before)) return;
  std::stable_sort(tensors.begin(), tensors.end(), is_before);
}

void order_by_name(SafetensorsHeader& header, const std::string& path) {
  std::vector<uint32_t>& order = header.by_name;
  order.resize(header.tensors.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto name_of = [&](uint32_t index) -> const std::string& { return header.tensors[index].name; };
  const auto is_before = [&](uint32_t a, uint32_t b) { return name_of(a) < name_of(b); };
  if (!std::is_sorted(order.begin(), order.end(), is_before)) std::sort(order.begin(), order.end(), is_before);
  for (size_t i = 1; i < order.size(); ++i) {
    if (name_of(order[i]) != name_of(order[i - 1])) continue;
    fail(Code::kFormat, "", "%s: tensor %.64s is there twice", path.c_str(), name_of(order[i]).c_str());
  }
}

// Every byte behind the header must belong to exactly one tensor: then nothing overlaps and no byte is hidden.
void require_gapless(const SafetensorsHeader& header, const File& file) {
  uint64_t position = 0;
  for (const TensorEntry& entry : header.tensors) {
    if (entry.begin != position) {
      fail(Code::kFormat, "", "%s: tensor %.64s begins at byte %llu of the data, expected %llu", file.path().c_str(),
           entry.name.c_str(), static_cast<unsigned long long>(entry.begin), static_cast<unsigned long long>(position));
    }
    position = entry.end;
  }
  if (position != file.size() - header.data_begin) {
    fail(Code::kFormat, "", "%s has %llu bytes of data, its tensors %llu", file.path().c_str(),
         static_cast<unsigned long long>(file.size() - header.data_begin), static_cast<unsigned long long>(position));
  }
}

void append_entry(const SafetensorsHeader& header, const TensorEntry& entry, std::string& text) {
  text += quoted(entry.name) + ":{\"dtype\":\"" + safetensors_name(entry.dtype) + "\",\"shape\":[";
  for (int i = 0; i < entry.rank; ++i) {
    if (i > 0) text += ",";
    text += std::to_string(header.sizes[entry.first_size + static_cast<size_t>(i)]);
  }
  text += "],\"data_offsets\":[" + std::to_string(entry.begin) + "," + std::to_string(entry.end) + "]},";
}

}  // namespace

const TensorEntry* SafetensorsHeader::find(const std::string& name) const noexcept {
  const auto found =
      std::lower_bound(by_name.begin(), by_name.end(), name,
                       [&](uint32_t index, const std::string& key) { return tensors[index].name < key; });
  if (found == by_name.end() || tensors[*found].name != name) return nullptr;
  return &tensors[*found];
}

SafetensorsHeader read_safetensors_header(const File& file) {
  const uint64_t length = read_length(file);
  SafetensorsHeader header;
  header.data_begin = kLengthBytes + length;
  FileText text(file, kLengthBytes, length);
  if (text.current() != '{') fail(Code::kFormat, "", "%s is no safetensors file: no { begins it", file.path().c_str());
  HeaderParser parser(header, file.path());
  read_json(text, parser);
  header.checksum = text.checksum();
  order_by_bytes(header);
  order_by_name(header, file.path());
  require_gapless(header, file);
  return header;
}

void append_tensor(SafetensorsHeader& header, const std::string& name, DType dtype, const Shape& shape) {
  // A reader would parse the tensor as metadata, and refuse the file.
  if (name == "__metadata__")
    fail(Code::kFormat, "", "no tensor can be saved as __metadata__: a safetensors file keeps that name for its texts");
  TensorEntry entry;
  entry.name = name;
  entry.begin = header.tensors.empty() ? 0 : header.tensors.back().end;
  entry.end = entry.begin + static_cast<uint64_t>(numel(shape)) * size_of(dtype);
  entry.first_size = static_cast<uint32_t>(header.sizes.size());
  entry.rank = static_cast<uint8_t>(shape.rank());
  entry.dtype = dtype;
  header.sizes.insert(header.sizes.end(), shape.begin(), shape.end());
  header.tensors.push_back(std::move(entry));
}

std::string serialize(SafetensorsHeader& header) {
  std::string text = "{";
  if (!header.metadata.empty()) {
    text += "\"__metadata__\":{";
    for (const auto& [key, value] : header.metadata) text += quoted(key) + ":" + quoted(value) + ",";
    text.back() = '}';
    text += ",";
  }
  for (const TensorEntry& entry : header.tensors) append_entry(header, entry, text);
  if (text.back() == ',') text.pop_back();
  text += "}";
  // Padded with spaces, so that the tensors begin at a multiple of eight bytes.
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > kMaxHeaderBytes) {
    fail(Code::kFormat, "", "the names of the tensors need a header of %zu bytes, at most %llu are allowed",
         text.size(), static_cast<unsigned long long>(kMaxHeaderBytes));
  }
  header.data_begin = kLengthBytes + text.size();
  header.checksum = checksum(text.data(), text.size());
  std::string bytes(kLengthBytes, '\0');
  for (size_t i = 0; i < kLengthBytes; ++i) bytes[i] = static_cast<char>(text.size() >> (8 * i));
  return bytes + text;
}

}  // namespace halftone::checkpoint
