// The table of functions that the CPU device allocates with: those of the C API's htone_allocator.
#pragma once

#include <cstddef>

#include "core/foreign_function.h"

namespace halftone {

struct HostMemory {
  void* user;
  // Returns memory aligned to `alignment` (a power of two, at most 4096), or null.
  ForeignFunction<void*(void* user, size_t bytes, size_t alignment)> allocate;
  ForeignFunction<void(void* user, void* memory, size_t bytes)> deallocate;
};

// The operating system's memory. Blocks of 2 MiB and more use huge pages if the system has them.
const HostMemory& system_memory() noexcept;

}  // namespace halftone
