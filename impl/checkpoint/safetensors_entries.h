// The tensors and the metadata of a safetensors file, as its header lists them. safetensors_header.h reads and writes
// it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "core/shape.h"

namespace halftone::checkpoint {

// The format's readers refuse a longer header.
inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;

// A header may have a million of them, so their sizes are in one common list.
struct TensorEntry {
  std::string name;
  uint64_t begin = 0;  // in bytes from the end of the header
  uint64_t end = 0;
  uint32_t first_size = 0;  // index of its sizes in SafetensorsHeader::sizes
  uint8_t rank = 0;
  DType dtype = DType::kF32;
};

struct SafetensorsHeader {
  std::vector<TensorEntry> tensors;  // in the order of their bytes
  std::vector<int64_t> sizes;
  std::vector<uint32_t> by_name;  // indices of tensors for find(); only in a header that was read
  std::vector<std::pair<std::string, std::string>> metadata;
  uint64_t data_begin = 0;  // in the file
  uint64_t checksum = 0;    // of the header's text

  Shape shape_of(const TensorEntry& entry) const { return Shape(sizes.data() + entry.first_size, entry.rank); }
  // Null if there is none of that name.
  const TensorEntry* find(const std::string& name) const noexcept;
};

}  // namespace halftone::checkpoint
