// A file in a caller's memory, reached through the table of files like every other. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/io.h"

namespace halftone::checkpoint {

class MemoryFile {
 public:
  // The name of the file in messages.
  static constexpr const char* kName = "the memory";

  // For reading: `size` bytes.
  MemoryFile(const void* data, size_t size) noexcept;
  // For writing: at most `capacity` bytes. A write beyond them is ENOSPC.
  MemoryFile(void* data, size_t capacity) noexcept;
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  // Opens the one file under every name, and has no other functions than those of an open file. Valid as long as the
  // object.
  const Io& io() const noexcept { return io_; }

 private:
  static int64_t read(void* user, int64_t file, uint64_t offset, void* buffer, size_t size);
  static int64_t write(void* user, int64_t file, uint64_t offset, const void* buffer, size_t size);

  const std::byte* readable_;
  std::byte* writable_;  // null for a file that is only read
  size_t size_;
  Io io_;
};

}  // namespace halftone::checkpoint
