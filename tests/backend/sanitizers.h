// Tells which sanitizer is active, for tests that cannot run under one of them.
#pragma once

namespace halftone {

#if defined(__clang__)
#if __has_feature(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
#if __has_feature(address_sanitizer)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif
#if __has_feature(memory_sanitizer)
inline constexpr bool kMemorySanitizer = true;
#else
inline constexpr bool kMemorySanitizer = false;
#endif
#else
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif
inline constexpr bool kMemorySanitizer = false;
#endif

inline constexpr bool kAnySanitizer = kThreadSanitizer || kAddressSanitizer || kMemorySanitizer;

}  // namespace halftone
