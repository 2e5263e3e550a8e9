/* The sanitizer that the tests run under, for those whose work it makes impossible or too slow. The build defines the
 * two numbers (tests/CMakeLists.txt), since gcc and clang tell programs in different ways. */
#pragma once

#if HALFTONE_ADDRESS_SANITIZER || HALFTONE_THREAD_SANITIZER
#define HALFTONE_ANY_SANITIZER 1
#else
#define HALFTONE_ANY_SANITIZER 0
#endif

#ifdef __cplusplus
namespace halftone {

inline constexpr bool kAddressSanitizer = HALFTONE_ADDRESS_SANITIZER != 0;
inline constexpr bool kThreadSanitizer = HALFTONE_THREAD_SANITIZER != 0;
inline constexpr bool kAnySanitizer = HALFTONE_ANY_SANITIZER != 0;

}  // namespace halftone
#endif
