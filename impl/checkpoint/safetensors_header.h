// What a safetensors file says of itself: names, dtypes, shapes and places of its tensors, and texts about them. The
// format is https://github.com/huggingface/safetensors: eight bytes with the header's length (little endian), the
// header in JSON, then the tensors' bytes without gaps. Every byte of a file is taken for hostile.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/file.h"
#include "core/dtype.h"
#include "core/shape.h"

namespace halftone::checkpoint {

// A million of them must fit beside their header, so shapes are kept in one list.
struct TensorEntry {
  std::string name;
  uint64_t begin = 0;  // in bytes from the end of the header
  uint64_t end = 0;
  uint32_t first_size = 0;  // where its sizes begin in SafetensorsHeader::sizes
  uint8_t rank = 0;
  DType dtype = DType::kF32;
};

struct SafetensorsHeader {
  std::vector<TensorEntry> tensors;  // in the order of their bytes
  std::vector<int64_t> sizes;
  std::vector<uint32_t> by_name;  // indices of tensors, for find; of a header that was read
  std::vector<std::pair<std::string, std::string>> metadata;
  uint64_t data_begin = 0;  // in the file
  uint64_t checksum = 0;    // of the header's text

  Shape shape_of(const TensorEntry& entry) const { return Shape(sizes.data() + entry.first_size, entry.rank); }
  // Null where there is none of that name.
  const TensorEntry* find(const std::string& name) const noexcept;
};

inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;

// Reads and checks everything but the tensors' bytes. Accepted: spaces behind the header, tensors without elements,
// scalars. Refused, beside what the format forbids: white space in front, unknown keys, names that are empty or hold a
// zero byte. Throws FORMAT naming file and tensor, UNSUPPORTED for dtypes and ranks that this library has not, IO.
SafetensorsHeader read_safetensors_header(const File& file);

// Adds a tensor behind the last one. __metadata__, which is no name of a tensor, is FORMAT.
void append_tensor(SafetensorsHeader& header, const std::string& name, DType dtype, const Shape& shape);
// The bytes in front of the tensors'; sets data_begin and checksum. Names and texts that are no UTF-8 are FORMAT.
std::string serialize(SafetensorsHeader& header);

// The format's name of a dtype: "BF16".
const char* safetensors_name(DType dtype) noexcept;

}  // namespace halftone::checkpoint
