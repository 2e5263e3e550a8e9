#include "checkpoint/memory_file.h"

#include <algorithm>
#include <cerrno>

namespace halftone::checkpoint {

namespace {

int64_t open_memory(void*, const char*, int32_t, uint32_t) { return 0; }
int64_t close_memory(void*, int64_t) { return 0; }
int64_t sync_memory(void*, int64_t) { return 0; }

}  // namespace

MemoryFile::MemoryFile(const void* data, size_t size) noexcept
    : readable_(static_cast<const std::byte*>(data)), writable_(nullptr), size_(size), io_{} {
  io_.user = this;
  io_.open = open_memory;
  io_.close = close_memory;
  io_.read = read;
  io_.write = write;
  io_.size = [](void* user, int64_t) { return static_cast<int64_t>(static_cast<const MemoryFile*>(user)->size_); };
  io_.sync = sync_memory;
}

MemoryFile::MemoryFile(void* data, size_t capacity) noexcept : MemoryFile(static_cast<const void*>(data), capacity) {
  writable_ = static_cast<std::byte*>(data);
}

int64_t MemoryFile::read(void* user, int64_t, uint64_t offset, void* buffer, size_t size) {
  const auto* memory = static_cast<const MemoryFile*>(user);
  if (offset >= memory->size_) return 0;
  const size_t count = std::min(size, memory->size_ - static_cast<size_t>(offset));
  std::copy_n(memory->readable_ + offset, count, static_cast<std::byte*>(buffer));
  return static_cast<int64_t>(count);
}

int64_t MemoryFile::write(void* user, int64_t, uint64_t offset, const void* buffer, size_t size) {
  const auto* memory = static_cast<const MemoryFile*>(user);
  if (memory->writable_ == nullptr) return -EBADF;
  if (offset > memory->size_ || size > memory->size_ - offset) return -ENOSPC;
  std::copy_n(static_cast<const std::byte*>(buffer), size, memory->writable_ + offset);
  return static_cast<int64_t>(size);
}

}  // namespace halftone::checkpoint
