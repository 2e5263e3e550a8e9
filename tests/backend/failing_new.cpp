#include "backend/failing_new.h"

#include <cstdlib>
#include <new>

namespace halftone {
namespace {

thread_local int64_t calls_until_failure = -1;  // negative: none fails
thread_local bool failed = false;

void* allocate_or_throw(size_t bytes, size_t alignment) {
  if (calls_until_failure >= 0 && calls_until_failure-- == 0) {
    failed = true;
    throw std::bad_alloc();
  }
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, bytes) != 0) throw std::bad_alloc();
  return memory;
}

}  // namespace

FailingNew::FailingNew(int64_t call) {
  failed = false;
  calls_until_failure = call;
}

FailingNew::~FailingNew() { calls_until_failure = -1; }

bool FailingNew::has_failed() const { return failed; }

}  // namespace halftone

void* operator new(size_t bytes) { return halftone::allocate_or_throw(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new[](size_t bytes) { return operator new(bytes); }
void* operator new(size_t bytes, std::align_val_t alignment) {
  return halftone::allocate_or_throw(bytes, static_cast<size_t>(alignment));
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
