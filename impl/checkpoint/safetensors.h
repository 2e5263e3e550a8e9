// Reads and writes safetensors files (safetensors_header.h). Files are read with read(), never mapped: if a file
// shrinks meanwhile, that is an error and not a signal. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/safetensors_header.h"
#include "core/file.h"
#include "tensor/state_dict.h"

namespace halftone::checkpoint {

// The properties of a written file that the index records.
struct WrittenFile {
  uint64_t size = 0;
  uint64_t header_checksum = 0;
  std::vector<uint64_t> tensor_checksums;  // in the order of StateDict::tensors
};

using Metadata = StateTexts;

// Writes the tensors of `state` and syncs the file; scalars are ignored. Throws IO, FORMAT.
WrittenFile write_safetensors(File& file, const StateDict& state, const Metadata& metadata);

// Bytes [begin, end) of a tensor.
struct ByteRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// An open file whose header was read and found valid.
class SafetensorsFile {
 public:
  static constexpr size_t kPieceBytes = 1 << 20;

  // Throws IO, FORMAT, UNSUPPORTED.
  SafetensorsFile(const Io& io, const std::string& path);

  const SafetensorsHeader& header() const noexcept { return header_; }
  uint64_t size() const noexcept { return file_.size(); }
  // Reads a tensor into `target`. Throws IO, FORMAT if the file has shrunk or holds a bool other than 0 and 1.
  // REQUIRES: `target` is contiguous and has the entry's dtype and number of elements.
  void read(const TensorEntry& entry, const Tensor& target) const;
  // Reads a tensor piece by piece and returns the checksum of all its bytes. Those in `kept` go to `target`, the others
  // to `piece`, which has kPieceBytes. Allocates nothing. Throws as read() does; a bool other than 0 and 1 does not
  // reach `target`.
  uint64_t read_range(const TensorEntry& entry, ByteRange kept, void* target, std::span<std::byte> piece) const;
  // Reads the bytes of a range of a tensor. Throws as read() does; then the content of `target` is unspecified.
  void read_bytes(const TensorEntry& entry, ByteRange range, void* target) const;
  // Reads all tensors, and moves the names out of the header.
  StateDict read_all(ContextDevice& device) &&;

 private:
  void require_bools(const unsigned char* bytes, size_t size, const std::string& name) const;

  File file_;
  SafetensorsHeader header_;
};

// Writes the file under a new name, syncs it and renames it to `path`, so that an old file there stays complete until
// the new one is. The new file keeps the old one's permissions.
void save_safetensors(const Io& io, const std::string& path, const StateDict& state, const Metadata& metadata);

// The size of the file that write_safetensors writes. Throws as it does.
uint64_t safetensors_size(const StateDict& state, const Metadata& metadata);

}  // namespace halftone::checkpoint
