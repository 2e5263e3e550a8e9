// A text that is read byte by byte through a small buffer, so that a header of 100 MB or an index of 1 GB is never in
// memory as a whole. Parsers read from it; a subclass fills the buffer. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace halftone {

class ByteSource {
 public:
  static constexpr int kEnd = -1;

  // For messages: the path of a file.
  virtual const std::string& name() const noexcept = 0;
  // The byte at the current position, 0 to 255; kEnd behind the last.
  int current() const noexcept { return next_ < filled_ ? static_cast<unsigned char>(buffer_[next_]) : kEnd; }
  // REQUIRES: current() is a byte.
  void advance() {
    if (++next_ == filled_) refill();
  }
  // The current byte's offset.
  uint64_t position() const noexcept { return filled_end_ - filled_ + next_; }

 protected:
  // `begin` is the offset of the first byte. The subclass calls refill() when it can read.
  explicit ByteSource(uint64_t begin) noexcept : filled_end_(begin) {}
  ~ByteSource() = default;

  void refill() {
    const size_t size = read(filled_end_, buffer_, sizeof buffer_);
    if (size == 0) return;
    filled_ = size;
    filled_end_ += size;
    next_ = 0;
  }

 private:
  // Reads the bytes from `offset` on into `buffer`, at most `size`. Returns how many there were, 0 at the end.
  virtual size_t read(uint64_t offset, char* buffer, size_t size) = 0;

  uint64_t filled_end_;  // the offset of the byte behind the buffer
  size_t next_ = 0;
  size_t filled_ = 0;
  char buffer_[8192];
};

}  // namespace halftone
