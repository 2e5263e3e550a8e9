#include "core/host_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

namespace halftone {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

constexpr size_t whole_huge_pages(size_t bytes) { return (bytes + kHugePage - 1) / kHugePage * kHugePage; }

// mmap aligns to small pages only: map one huge page too many and unmap the parts before and after the aligned range.
void* map_huge(size_t bytes) {
  if (bytes > SIZE_MAX - 2 * kHugePage) return nullptr;
  const size_t size = whole_huge_pages(bytes);
  void* memory = mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  char* begin = static_cast<char*>(memory);
  const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
  if (before > 0) munmap(begin, before);
  if (before < kHugePage) munmap(begin + before + size, kHugePage - before);
  madvise(begin + before, size, MADV_HUGEPAGE);  // advice only: a kernel without huge pages ignores it
  return begin + before;
}

void* allocate_system(void*, size_t bytes, size_t alignment) {
  if (bytes >= kHugePage) return map_huge(bytes);
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
}

void deallocate_system(void*, void* memory, size_t bytes) {
  if (bytes >= kHugePage) {
    munmap(memory, whole_huge_pages(bytes));
  } else {
    std::free(memory);
  }
}

constexpr HostMemory kSystemMemory = {.user = nullptr, .allocate = allocate_system, .deallocate = deallocate_system};

}  // namespace

const HostMemory& system_memory() noexcept { return kSystemMemory; }

}  // namespace halftone
