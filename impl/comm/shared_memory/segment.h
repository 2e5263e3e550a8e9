// The memory of one rank that the ranks of a group share: an anonymous file, which no name in any folder refers to, so
// that nothing is left behind however the processes end. The words of layout.h come first, then the data, which the
// owner writes and the others only read. Used by one thread; the words are shared by all.
#pragma once

#include <cstddef>

#include "comm/shared_memory/descriptor.h"
#include "comm/shared_memory/layout.h"

namespace halftone {

// A range of mapped memory.
class SharedMapping {
 public:
  SharedMapping() = default;
  // Throws OUT_OF_MEMORY.
  SharedMapping(const Descriptor& file, size_t offset, size_t bytes, int protection);
  SharedMapping(SharedMapping&& other) noexcept;
  SharedMapping& operator=(SharedMapping&& other) noexcept;
  ~SharedMapping();

  std::byte* begin() const noexcept { return begin_; }
  size_t bytes() const noexcept { return bytes_; }
  // Extends the range, which may move. Returns false if there is no room for it.
  bool extend(size_t bytes) noexcept;

 private:
  std::byte* begin_ = nullptr;
  size_t bytes_ = 0;
};

class Segment {
 public:
  Segment() = default;
  // The segment of this rank, with words for a group of `ranks`. Throws OUT_OF_MEMORY.
  static Segment create(int ranks, size_t data_bytes);
  // Another rank's, whose file is open. Throws COMM if the file is not one that create() made for as many ranks.
  static Segment open(Descriptor file, int ranks);

  SegmentControl& control() const noexcept { return *at<SegmentControl>(0); }
  Outbox& outbox(int rank) const noexcept { return at<Outbox>(sizeof(SegmentControl))[rank]; }
  Inbox& inbox(int rank) const noexcept {
    return at<Inbox>(sizeof(SegmentControl) + static_cast<size_t>(ranks_) * sizeof(Outbox))[rank];
  }
  const Descriptor& file() const noexcept { return file_; }

  // For the owner.
  std::byte* data() const noexcept { return data_.begin(); }
  size_t data_bytes() const noexcept { return data_.bytes(); }
  // Returns OUT_OF_MEMORY. Data may move in this process's memory; its offset stays.
  Status grow(size_t bytes) noexcept;

  // For the others: the bytes at an offset. Null if they are outside the data, or not aligned as the owner's are. May
  // move what an earlier call returned.
  const std::byte* find(uint64_t offset, uint64_t bytes) noexcept;

 private:
  template <class T>
  T* at(size_t offset) const noexcept {
    return reinterpret_cast<T*>(words_.begin() + offset);
  }
  static size_t word_bytes(int ranks) noexcept;

  Descriptor file_;
  int ranks_ = 0;
  SharedMapping words_;
  SharedMapping data_;
};

}  // namespace halftone
