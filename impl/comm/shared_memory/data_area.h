// Room for the data of a rank's messages in its own segment. Two halves take turns: while messages of one are read, the
// other is filled. A message that does not fit gets a block behind the halves, for which the segment grows; blocks are
// used again and never shrink. Used by one thread.
#pragma once

#include <vector>

#include "comm/shared_memory/segment.h"

namespace halftone {

class DataArea {
 public:
  static constexpr int kHalves = 2;

  // Bytes of a half that has room for `bytes` in `messages` messages.
  static size_t half_bytes(size_t bytes, int messages) noexcept;

  // REQUIRES: the segment's data has kHalves times `half_bytes`
  DataArea(Segment& segment, size_t half_bytes) : segment_(segment), half_bytes_(half_bytes) {}

  // True if the half in use has room for the data; else put() uses a block.
  bool has_room(size_t bytes) const noexcept { return bytes <= half_bytes_ - used_; }
  // Copies the data into the half in use. Returns OUT_OF_MEMORY.
  Status put(const void* data, size_t bytes, uint64_t* out_offset) noexcept;
  // Goes over to half `index`, whose messages have all been read.
  void use_half(int index) noexcept;

 private:
  struct Block {
    uint64_t offset;
    size_t bytes;
    int half;  // whose messages it holds; kFree if none
  };
  static constexpr int kFree = -1;

  Status find_block(size_t bytes, uint64_t* out_offset) noexcept;

  Segment& segment_;
  const size_t half_bytes_;
  int half_ = 0;
  size_t used_ = 0;  // of the half
  std::vector<Block> blocks_;
};

}  // namespace halftone
