/** @file
 * Status codes, the last error of a thread, the log callback and the count of live handles: what every other header
 * stands on.
 *
 * Conventions of the whole interface, stated once:
 *  - Every function returns a htone_status; results come last and are named `out...`. On failure no result is written.
 *  - Objects are opaque handles. Every `**out` handle is a reference that the caller owns and releases with the
 *    type's `_release`; arguments are borrowed for the call, and what the library keeps it retains by itself.
 *  - Handles are checked: NULL, a released handle, a handle of another type and a random value return
 *    HTONE_ERROR_INVALID_HANDLE. `_release(NULL)` does nothing.
 *  - An `_options` pointer may be NULL, which means the defaults; otherwise the structure was filled by the type's
 *    `_options_init`.
 *  - Different handles may be used from different threads at once, and one handle may be read from many. Changing an
 *    object while others use it is up to the caller to synchronize.
 *  - The library never prints, exits, installs a signal handler or changes the floating-point modes of the caller.
 *  - A thread that is cancelled (pthread_cancel) finishes the call that it is in, with the callbacks of that call. No
 *    call is a cancellation point. A thread must not call the library while its cancellation is asynchronous.
 */
#ifndef HALFTONE_BASE_H
#define HALFTONE_BASE_H

#include <stddef.h>
#include <stdint.h>

#if defined(SWIG)
#define HTONE_API
#elif defined(__GNUC__)
#define HTONE_API __attribute__((visibility("default")))
#else
#define HTONE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum htone_status {
  HTONE_OK = 0,
  HTONE_ERROR_INVALID_ARGUMENT = 1,
  HTONE_ERROR_INVALID_HANDLE = 2,
  HTONE_ERROR_OUT_OF_MEMORY = 3,
  HTONE_ERROR_UNSUPPORTED = 4,
  HTONE_ERROR_SHAPE_MISMATCH = 5,
  HTONE_ERROR_DTYPE_MISMATCH = 6,
  HTONE_ERROR_DEVICE = 7,
  HTONE_ERROR_COMM = 8,
  HTONE_ERROR_PEER_LOST = 9,
  HTONE_ERROR_TIMEOUT = 10,
  HTONE_ERROR_IO = 11,
  HTONE_ERROR_FORMAT = 12,
  HTONE_ERROR_STATE = 13,
  HTONE_ERROR_BUFFER_TOO_SMALL = 14,
  HTONE_ERROR_CALLBACK = 15,
  HTONE_ERROR_CANCELLED = 16,
  HTONE_ERROR_INTERNAL = 17,
  HTONE_STATUS_MAX_ENUM = 0x7FFFFFFF
} htone_status;

/** The last failed call of the calling thread. */
typedef struct htone_error_info {
  uint32_t struct_size;   /**< set by the caller to sizeof(htone_error_info) */
  htone_status status;    /**< HTONE_OK where no call of this thread has failed */
  int32_t argument_index; /**< position of the argument at fault, from 0; -1 where no single argument is */
  int32_t native_code;    /**< errno, a driver's or a callback's own code; 0 where there is none */
  char message[512];      /**< one line: the function, the argument, expected against actual */
} htone_error_info;

/** Names a status: "INVALID_ARGUMENT"; "UNKNOWN" for a value that is none.
 *
 * @param[in] status any value.
 * @return a string that lives as long as the library.
 * @since 0.1
 */
HTONE_API const char* htone_status_name(htone_status status);

/** Tells what the last failed call of this thread was about; successful calls leave it as it is.
 *
 * @param[in,out] out_info struct_size set by the caller; the other fields are written. Caller's memory.
 * @errors INVALID_ARGUMENT (NULL, or a struct_size below 16). These are not recorded as the last error.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_error_last(htone_error_info* out_info);

/** Counts the handles of all types that are alive in this process; a program that released everything sees 0.
 *
 * @param[out] out_count the number of live handles.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_debug_live_handles(int64_t* out_count);

/** Receives warnings of the library, each one line without a newline. Called without any lock held, from any thread. */
typedef void (*htone_log_fn)(const char* message, void* user);

/** Sets where warnings go; there is one receiver in a process and none by default.
 *
 * @param[in] callback the receiver; optional, NULL ends logging.
 * @param[in] user handed to both callbacks; optional.
 * @param[in] destroy called once with `user` when the receiver is replaced; optional.
 * @errors none.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_log_set_callback(htone_log_fn callback, void* user, void (*destroy)(void* user));

#ifdef __cplusplus
}
#endif

#endif
