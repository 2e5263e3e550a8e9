// The table from which the CPU device takes its memory: the functions of the C API's htone_allocator.
#pragma once

#include <cstddef>

#include "core/foreign_function.h"

namespace halftone {

struct HostMemory {
  void* user;
  // Answers memory aligned to `alignment` (a power of two, at most 4096), or null.
  ForeignFunction<void*(void* user, size_t bytes, size_t alignment)> allocate;
  ForeignFunction<void(void* user, void* memory, size_t bytes)> deallocate;
};

// The operating system's memory; blocks of 2 MiB and more lie on huge pages where the system gives them.
const HostMemory& system_memory() noexcept;

}  // namespace halftone
