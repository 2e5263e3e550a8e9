// Where the CPU device takes its memory from; plain C function pointers, the C API's htone_allocator.
#pragma once

#include <cstddef>

namespace halftone {

struct HostMemory {
  void* user;
  // Answers memory aligned to `alignment` (a power of two, at most 4096), or null.
  void* (*allocate)(void* user, size_t bytes, size_t alignment);
  void (*deallocate)(void* user, void* memory, size_t bytes);
};

// The operating system's memory; blocks of 2 MiB and more lie on huge pages where the system gives them.
const HostMemory& system_memory() noexcept;

}  // namespace halftone
