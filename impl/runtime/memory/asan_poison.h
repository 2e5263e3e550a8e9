// Tells AddressSanitizer which bytes of cached memory a tensor may touch; otherwise a cache would hide every use after
// release. Does nothing in builds without AddressSanitizer. For the caching allocator.
#pragma once

#include <cstddef>

#if defined(__clang__)
#if __has_feature(address_sanitizer)
#define HALFTONE_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define HALFTONE_ASAN 1
#endif

#ifdef HALFTONE_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace halftone {

#ifdef HALFTONE_ASAN
inline void poison(const void* memory, size_t bytes) noexcept { __asan_poison_memory_region(memory, bytes); }
inline void unpoison(const void* memory, size_t bytes) noexcept { __asan_unpoison_memory_region(memory, bytes); }
#else
inline void poison(const void*, size_t) noexcept {}
inline void unpoison(const void*, size_t) noexcept {}
#endif

}  // namespace halftone
