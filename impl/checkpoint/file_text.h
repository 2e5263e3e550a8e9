// A range of a file as a text for a parser, with the checksum of its bytes. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "checkpoint/checksum.h"
#include "core/file.h"
#include "core/text/byte_source.h"

namespace halftone::checkpoint {

class FileText final : public ByteSource {
 public:
  FileText(const File& file, uint64_t begin, uint64_t size) : ByteSource(begin), file_(file), end_(begin + size) {
    refill();
  }

  const std::string& name() const noexcept override { return file_.path(); }
  // The checksum of all bytes read into the buffer so far: of the whole range once current() is kEnd.
  uint64_t checksum() const { return checksum_.value(); }

 private:
  size_t read(uint64_t offset, char* buffer, size_t size) override;

  const File& file_;
  const uint64_t end_;  // in the file
  Checksum checksum_;
};

}  // namespace halftone::checkpoint
