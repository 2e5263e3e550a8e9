#include "failing_allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

struct Watch {
  bool is_on;
  bool is_for_ever;
  bool has_failed;
  int64_t failing_call;
  int64_t calls;
};

thread_local Watch watch = {};
std::atomic<int64_t> blocks{0};
std::atomic<int64_t> allocated{0};

[[maybe_unused]] const int pool_is_off = setenv("HALFTONE_OBJECT_POOL", "0", 0);

void* allocate_or_throw(size_t bytes, size_t alignment) {
  void* memory = nullptr;
  if (next_allocation_fails() || posix_memalign(&memory, alignment, bytes) != 0) throw std::bad_alloc();
  blocks.fetch_add(1, std::memory_order_relaxed);
  allocated.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

void give_back(void* memory) {
  if (memory == nullptr) return;
  blocks.fetch_sub(1, std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

void fail_allocation(int64_t call, int for_ever) {
  watch = {.is_on = true, .is_for_ever = for_ever != 0, .has_failed = false, .failing_call = call, .calls = 0};
}

void ignore_allocations(void) { watch.is_on = false; }
void watch_allocations(void) { watch.is_on = true; }

int next_allocation_fails(void) {
  if (!watch.is_on) return 0;
  const int64_t call = watch.calls++;
  if (watch.failing_call < 0 || call < watch.failing_call) return 0;
  if (call > watch.failing_call && !watch.is_for_ever) return 0;
  watch.has_failed = true;
  return 1;
}

int64_t allocations_counted(void) { return watch.calls; }
int has_allocation_failed(void) { return watch.has_failed ? 1 : 0; }
int64_t blocks_in_use(void) { return blocks.load(); }
int64_t blocks_allocated(void) { return allocated.load(); }

void* operator new(size_t bytes) { return allocate_or_throw(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new[](size_t bytes) { return operator new(bytes); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<size_t>(alignment));
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](size_t bytes, const std::nothrow_t& nothrow) noexcept { return operator new(bytes, nothrow); }
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, size_t) noexcept { give_back(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { give_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { give_back(memory); }
void operator delete[](void* memory) noexcept { give_back(memory); }
void operator delete[](void* memory, size_t) noexcept { give_back(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { give_back(memory); }
