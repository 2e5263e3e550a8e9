// A checkpoint that is open for reading: its index and its files. They stay readable until the last reference goes,
// also if another process removes the checkpoint meanwhile. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/index.h"
#include "checkpoint/safetensors.h"
#include "core/ref.h"

namespace halftone::checkpoint {

// The bytes of a checkpoint that one rank verifies, when the ranks of a group verify it together: each part of a tensor
// belongs to one share, and the shares have about the same size.
struct Share {
  int64_t rank = 0;
  int64_t world_size = 1;
};

class OpenCheckpoint final : public RefCounted {
 public:
  // Checks that each file is the one that was written for the index, but reads no tensor. Throws FORMAT, IO,
  // UNSUPPORTED. REQUIRES: `io` outlives the object.
  OpenCheckpoint(const Io& io, const std::string& folder, int64_t step);

  const Index& index() const noexcept { return index_; }
  // Compares every byte of the tensors in a share with its checksum, and looks for bools other than 0 and 1. Throws
  // FORMAT, IO.
  void verify(const Share& share = {}) const;
  // Reads the elements of a range or a box of a tensor. Reads and verifies the parts that overlap them, no others.
  // Allocates nothing. Throws FORMAT, IO; then the content of `elements` is unspecified.
  void read(const IndexTensor& tensor, const BoxRange& wanted, void* elements) const;

 private:
  void require_match(const IndexFile& expected, const SafetensorsFile& file) const;
  void require_checksum(const IndexTensor& tensor, const TensorPart& part, uint64_t actual) const;
  uint64_t read_range(const IndexTensor& tensor, const TensorPart& part, const BoxRange& wanted, void* elements) const;
  uint64_t read_rows(const IndexTensor& tensor, const TensorPart& part, const BoxRange& wanted, void* elements) const;
  const TensorEntry& entry_of(const IndexTensor& tensor, const TensorPart& part) const;
  std::vector<ByteRange> ranges_in_files(const Share& share) const;

  std::string folder_;
  Index index_;
  std::vector<SafetensorsFile> files_;
  mutable std::vector<std::byte> piece_;  // for bytes that are only verified
};

// The state of a checkpoint. Its entries read from the files, into host memory of `device`.
StateDict state_of(const Ref<const OpenCheckpoint>& checkpoint, ContextDevice& device);

}  // namespace halftone::checkpoint
