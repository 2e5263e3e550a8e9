/** @file
 * Status codes, the last error of a thread, the log callback and the count of live handles. All other headers include
 * this one.
 *
 * Conventions of the whole interface:
 *  - Functions return an htone_status; results come last and are named `out...`. A failed call writes no result.
 *  - Objects are opaque handles. Every `**out` handle is a reference that the caller owns and releases with the
 *     type's `_release`, or that a scope of htone_handles_begin (scope.h) releases. Arguments are borrowed for the
 *     call; if the library keeps an object, it retains the object itself.
 *  - Handles are checked: for NULL, a released handle, a handle of another type and a random value a call returns
 *    HTONE_ERROR_INVALID_HANDLE. `_release(NULL)` does nothing.
 *  - An `_options` pointer may be NULL, which means the defaults; otherwise the structure was initialized by the type's
 *    macro `HTONE_..._OPTIONS_INIT` or filled by its `_options_init`.
 *  - Text and arrays are written to the caller's memory: `(out, capacity, out_length)`.
 *  - Different handles may be used from different threads at once, and one handle may be read from many. A caller must
 *    order the changes of an object against its other uses.
 *  - The library never prints, exits, installs a signal handler or changes the floating-point modes of the caller.
 *  - A thread that is cancelled (pthread_cancel) finishes its current call of the library, with the callbacks of that
 *     call. No call is a cancellation point. A thread must not call the library while its cancellation is asynchronous.
 *  - The lists of errors leave out the prefix HTONE_ERROR_.
 *  - The example of a header is a part of a program that has begun a scope of handles and made a context, a device (the
 *    CPU), a tensor x, f32 [2, 3] of 1 to 6, a linear layer model from 3 to 2 features, and loss, the sum of its output
 *    for x. y, values, number, count and optimizer receive results. check ends the program at a failed call.
 *
 * @code
 * htone_error_info info = HTONE_ERROR_INFO_INIT;
 * const htone_status status = htone_matmul(x, x, &y);
 * assert(status == HTONE_ERROR_SHAPE_MISMATCH && strcmp(htone_status_name(status), "SHAPE_MISMATCH") == 0);
 * check(htone_error_last(&info));
 * // htone_matmul: a.shape[1]=3 differs from b.shape[0]=2 (a [2, 3], b [2, 3])
 * assert(strstr(info.message, "a.shape[1]=3 differs from b.shape[0]=2") != NULL);
 * @endcode
 */
#ifndef HALFTONE_BASE_H
#define HALFTONE_BASE_H

#include <stddef.h>
#include <stdint.h>

/** @def HTONE_EXPORT
 * Declares a function whose result a caller may ignore, because a failure loses nothing: it releases, ends or removes
 * something on a path that cleans up, fills a structure with its defaults, or returns a name.
 */
/** @def HTONE_API
 * Declares a function of the library whose result the caller must not ignore. Compilers that know warn_unused_result
 * warn otherwise, unless HTONE_ALLOW_UNUSED_RESULTS is defined.
 */
#if defined(SWIG) || defined(HALFTONE_STATIC)
#define HTONE_EXPORT
#elif defined(_WIN32) && defined(HALFTONE_BUILDING_LIBRARY)
#define HTONE_EXPORT __declspec(dllexport)
#elif defined(_WIN32)
#define HTONE_EXPORT __declspec(dllimport)
#elif defined(__GNUC__)
#define HTONE_EXPORT __attribute__((visibility("default")))
#else
#define HTONE_EXPORT
#endif

#if defined(__GNUC__) && !defined(SWIG) && !defined(HTONE_ALLOW_UNUSED_RESULTS)
#define HTONE_API HTONE_EXPORT __attribute__((warn_unused_result))
#else
#define HTONE_API HTONE_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The result of a call. */
typedef enum htone_status {
  HTONE_OK = 0,                      /**< success */
  HTONE_ERROR_INVALID_ARGUMENT = 1,  /**< an argument is NULL, out of range or contradicts another */
  HTONE_ERROR_INVALID_HANDLE = 2,    /**< a handle is NULL, released or of another type */
  HTONE_ERROR_OUT_OF_MEMORY = 3,     /**< memory, or the limit of a device, does not suffice */
  HTONE_ERROR_UNSUPPORTED = 4,       /**< this version, build or device does not support the request */
  HTONE_ERROR_SHAPE_MISMATCH = 5,    /**< shapes do not fit together */
  HTONE_ERROR_DTYPE_MISMATCH = 6,    /**< dtypes do not fit together or to the operation */
  HTONE_ERROR_DEVICE = 7,            /**< devices differ, there is no such device, or the device failed */
  HTONE_ERROR_COMM = 8,              /**< communication between ranks failed */
  HTONE_ERROR_PEER_LOST = 9,         /**< another rank is gone */
  HTONE_ERROR_TIMEOUT = 10,          /**< time ran out */
  HTONE_ERROR_IO = 11,               /**< the operating system reported an error; native_code has errno */
  HTONE_ERROR_FORMAT = 12,           /**< a file is damaged or of another format */
  HTONE_ERROR_STATE = 13,            /**< the call comes in the wrong order or from the wrong thread */
  HTONE_ERROR_BUFFER_TOO_SMALL = 14, /**< the capacity does not suffice; the needed length was written */
  HTONE_ERROR_CALLBACK = 15,         /**< a callback failed; native_code has its status */
  HTONE_ERROR_CANCELLED = 16,        /**< the work was cancelled */
  HTONE_ERROR_INTERNAL = 17,         /**< a fault of the library */
  HTONE_ERROR_NOT_FINITE = 18,       /**< a NaN or an infinity, if the caller asked for an error */
  HTONE_STATUS_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_status;

/** The last failed call of the calling thread. */
typedef struct htone_error_info {
  uint32_t struct_size;   /**< set by the caller to sizeof(htone_error_info) */
  htone_status status;    /**< HTONE_OK if no call of this thread has failed */
  int32_t argument_index; /**< position of the argument at fault, from 0; -1 if no single argument is */
  int32_t native_code;    /**< errno, a driver's or a callback's own code; 0 if there is none */
  char message[512];      /**< one line: the function, the argument, expected against actual */
} htone_error_info;

/** An empty htone_error_info of the right size, to initialize one where it is declared. */
#define HTONE_ERROR_INFO_INIT \
  { sizeof(htone_error_info), HTONE_OK, -1, 0, "" }

/** Names a status: "INVALID_ARGUMENT"; "UNKNOWN" for any other value.
 *
 * @param[in] status any value.
 * @return a string that lives as long as the library.
 * @since 0.1
 */
HTONE_EXPORT const char* htone_status_name(htone_status status);

/** Sets struct_size and empties the other fields, as HTONE_ERROR_INFO_INIT does.
 *
 * @param[out] info caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_error_info_init(htone_error_info* info);

/** Returns the last error of this thread; successful calls do not change it. The error of a call is read on the thread
 * of that call: on a thread without a failed call the status is HTONE_OK and the message says so.
 *
 * @param[in,out] out_info struct_size set by the caller; the other fields are written. Caller's memory.
 * @errors INVALID_ARGUMENT (NULL, or a struct_size below 16). These are not recorded as the last error.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_error_last(htone_error_info* out_info);

/** Reports the reason why a callback fails: sets the last error of this thread and returns its status, so that a
 * callback can end with `return htone_error_set(HTONE_ERROR_UNSUPPORTED, "the mask is missing");`. The call that ran
 * the callback then fails with CALLBACK and repeats the message.
 *
 * @param[in] status any value but HTONE_OK.
 * @param[in] message zero-terminated, UTF-8; cut at 511 bytes; copied.
 * @return status.
 * @errors INVALID_ARGUMENT (status is HTONE_OK, message is NULL).
 * @since 0.1
 */
HTONE_API htone_status htone_error_set(htone_status status, const char* message);

/** Counts the handles of all types that are alive in this process; 0 in a program that released everything.
 *
 * @param[out] out_count the number of live handles.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_debug_live_handles(int64_t* out_count);

/** Begins or ends recording the origin of new handles, for htone_debug_describe_handles. It is off by default. A record
 * takes about a microsecond. Ending removes all records.
 *
 * @param[in] enabled not 0 begins.
 * @errors OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_debug_track_handles(int32_t enabled);

/** Lists the live handles of this process by type, a line each: "tensor: 3". For handles that were made while
 * htone_debug_track_handles was on, the line also has the function and its caller: "tensor: 2 from htone_mul, called
 * at train_step+0x2f (./train)"; if the program has no symbol, the offset is that in its file, for addr2line.
 *
 * @param[out] out_text caller's memory; always ends with a zero byte.
 * @param[in] capacity bytes at out_text.
 * @param[out] out_length the length without the zero byte, also if the buffer is too small.
 * @errors INVALID_ARGUMENT, BUFFER_TOO_SMALL, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_debug_describe_handles(char* out_text, size_t capacity, size_t* out_length);

/** Receives warnings of the library, each one line without a newline. It is called from any thread, and no lock is
 * held.
 */
typedef void (*htone_log_fn)(const char* message, void* user);

/** Sets the receiver of warnings. A process has one receiver, and none by default.
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
