// Reading and writing safetensors files (safetensors_header.h). Files are read with read(), never mapped: a file that
// shrinks meanwhile is an error, not a signal. One thread at a time.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "checkpoint/file.h"
#include "checkpoint/safetensors_header.h"
#include "tensor/state_dict.h"

namespace halftone::checkpoint {

// What an index says of a file that was written.
struct WrittenFile {
  uint64_t size = 0;
  uint64_t header_checksum = 0;
  std::vector<uint64_t> tensor_checksums;  // in the order of StateDict::tensors
};

using Metadata = std::vector<std::pair<std::string, std::string>>;

// Writes the tensors of `state` and syncs the file; scalars are not looked at. Throws IO, FORMAT.
WrittenFile write_safetensors(File& file, const StateDict& state, const Metadata& metadata);

// An open file whose header is sound.
class SafetensorsFile {
 public:
  // Throws IO, FORMAT, UNSUPPORTED.
  SafetensorsFile(const Io& io, const std::string& path);

  const SafetensorsHeader& header() const noexcept { return header_; }
  uint64_t size() const noexcept { return file_.size(); }
  // Reads a tensor into `target`, which is contiguous and has its dtype and number of elements. Answers the checksum of
  // its bytes. Throws IO, FORMAT where the file has shrunk or holds a bool other than 0 and 1.
  uint64_t read(const TensorEntry& entry, const Tensor& target) const;
  // The same without keeping the bytes.
  uint64_t checksum_of(const TensorEntry& entry) const;
  // Reads all tensors; the names in the header go over to the answer.
  StateDict read_all(ContextDevice& device) &&;

 private:
  void require_bools(const unsigned char* bytes, size_t size, const std::string& name) const;

  File file_;
  SafetensorsHeader header_;
};

// A whole file: written under another name, of its own, synced and renamed, so that what stood at `path` stays whole
// until then.
void save_safetensors(const Io& io, const std::string& path, const StateDict& state, const Metadata& metadata);
StateDict load_safetensors(const Io& io, const std::string& path, ContextDevice& device);

}  // namespace halftone::checkpoint
