#include "failing_allocator.h"

#include <stdlib.h>

static void* allocate(void* user, size_t size, size_t alignment) {
  void* memory = NULL;
  if (next_allocation_fails() || posix_memalign(&memory, alignment, size) != 0) return NULL;
  __atomic_add_fetch((int64_t*)user, (int64_t)size, __ATOMIC_SEQ_CST);
  return memory;
}

static void deallocate(void* user, void* memory, size_t size) {
  __atomic_sub_fetch((int64_t*)user, (int64_t)size, __ATOMIC_SEQ_CST);
  free(memory);
}

htone_allocator failing_allocator(int64_t* bytes) {
  return (htone_allocator){sizeof(htone_allocator), 0, bytes, allocate, deallocate};
}
