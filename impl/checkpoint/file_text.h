// A range of a file, read byte by byte through a small buffer, so that a header of 100 MB or an index of 1 GB is never
// in memory as a whole. Used by the JSON reader. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "checkpoint/checksum.h"
#include "core/file.h"

namespace halftone::checkpoint {

class FileText {
 public:
  static constexpr int kEnd = -1;

  FileText(const File& file, uint64_t begin, uint64_t size) : file_(file), offset_(begin), left_(size) { refill(); }

  const std::string& path() const noexcept { return file_.path(); }
  // The byte at the current position, 0 to 255; kEnd behind the last.
  int current() const noexcept { return next_ < filled_ ? static_cast<unsigned char>(buffer_[next_]) : kEnd; }
  void advance() {
    if (++next_ == filled_ && left_ > 0) refill();
  }
  // The current byte's offset in the file.
  uint64_t position() const noexcept { return offset_ - filled_ + next_; }
  // The checksum of all bytes read into the buffer so far: of the whole range once current() is kEnd.
  uint64_t checksum() const { return checksum_.value(); }

 private:
  void refill();

  const File& file_;
  uint64_t offset_;  // in the file, of the byte behind the buffer
  uint64_t left_;    // bytes of the range behind the buffer
  size_t next_ = 0;
  size_t filled_ = 0;
  Checksum checksum_;
  char buffer_[8192];
};

}  // namespace halftone::checkpoint
