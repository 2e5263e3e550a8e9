#include "comm/shared_memory/data_area.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

namespace halftone {
namespace {

constexpr size_t kSmallestBlock = size_t{1} << 20;

size_t aligned(size_t bytes) { return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine; }

}  // namespace

size_t DataArea::half_bytes(size_t bytes, int messages) noexcept {
  const size_t needed = bytes + static_cast<size_t>(messages) * kCacheLine;
  return (needed + kPageBytes - 1) / kPageBytes * kPageBytes;
}

Status DataArea::put(const void* data, size_t bytes, uint64_t* out_offset) noexcept {
  if (has_room(bytes)) {
    *out_offset = static_cast<size_t>(half_) * half_bytes_ + used_;
    used_ = std::min(used_ + aligned(bytes), half_bytes_);
  } else if (Status status = find_block(bytes, out_offset); !status.ok()) {
    return status;
  }
  std::memcpy(segment_.data() + *out_offset, data, bytes);
  return {};
}

// Sizes are powers of two, so that blocks fit again.
Status DataArea::find_block(size_t bytes, uint64_t* out_offset) noexcept {
  if (bytes > SIZE_MAX / 4) return Status::failure(Code::kOutOfMemory, "no memory for a message of %zu bytes", bytes);
  const size_t size = std::max(std::bit_ceil(bytes), kSmallestBlock);
  const auto fits = [&](const Block& block) { return block.half == kFree && block.bytes == size; };
  const auto found = std::find_if(blocks_.begin(), blocks_.end(), fits);
  if (found != blocks_.end()) {
    found->half = half_;
    *out_offset = found->offset;
    return {};
  }
  const uint64_t offset = segment_.data_bytes();
  try {
    blocks_.push_back({.offset = offset, .bytes = size, .half = half_});
  } catch (const std::bad_alloc&) {
    return Status::failure(Code::kOutOfMemory, "no memory for a message of %zu bytes", bytes);
  }
  Status status = segment_.grow(size);
  if (!status.ok()) blocks_.pop_back();
  *out_offset = offset;
  return status;
}

void DataArea::use_half(int index) noexcept {
  half_ = index;
  used_ = 0;
  for (Block& block : blocks_) {
    if (block.half == index) block.half = kFree;
  }
}

}  // namespace halftone
