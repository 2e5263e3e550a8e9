/** @file
 * Stores: small key-value stores in which the ranks of process groups find each other. A store may also hold what the
 * ranks of a program exchange outside of collectives, such as the number of a run. Safe from any thread.
 *
 * @code
 * htone_store* store;
 * check(htone_store_create_memory(context, &store));
 * int64_t sum;
 * check(htone_store_add(store, "epochs", 3, &sum));
 * check(htone_store_add(store, "epochs", 2, &sum));
 * assert(sum == 5);
 * check(htone_store_release(store));
 * @endcode
 */
#ifndef HALFTONE_STORE_H
#define HALFTONE_STORE_H

#include "halftone/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A key-value store. */
typedef struct htone_store htone_store;

/** Makes a store for ranks that are threads of this process.
 *
 * @param[in] context borrowed.
 * @param[out] out an empty store; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_store_create_memory(htone_context* context, htone_store** out);

/** Opens a store for processes that see one file system: those of one machine, or of machines with a network file
 * system that supports flock(2). The store is a directory, which stays when the last process has ended: give each run
 * a new one, and remove it afterwards.
 *
 * @param[in] context borrowed.
 * @param[in] path the directory; made if it does not exist, in a directory that exists. It must belong to the user of
 *   the process, and other users must not be able to write to it.
 * @param[out] out the store; owned by the caller. Its calls return FORMAT for a file larger than any value, 1 MiB.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, IO, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_store_create_file(htone_context* context, const char* path, htone_store** out);

/** Settings of htone_store_create_tcp. */
typedef struct htone_tcp_store_options {
  uint32_t struct_size;   /**< sizeof of this structure */
  int32_t is_server;      /**< not 0: this process holds the entries, while it keeps the store; exactly one does */
  double timeout_seconds; /**< to reach the server, more than 0; default 30 */
} htone_tcp_store_options;

/** The defaults, to initialize a htone_tcp_store_options where it is declared. */
#define HTONE_TCP_STORE_OPTIONS_INIT \
  { sizeof(htone_tcp_store_options), 0, 30.0 }

/** Fills options with the defaults, as HTONE_TCP_STORE_OPTIONS_INIT does.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_tcp_store_options_init(htone_tcp_store_options* options);

/** Opens a store that one process serves to others over TCP. The plugin libhalftone_gloo.so has to be loaded. Each side
 * proves to the other that it knows the secret (HMAC-SHA-256 of random challenges); a stranger is refused before it can
 * send a request. The data itself is not encrypted.
 *
 * @param[in] context borrowed.
 * @param[in] address of the server, "address:port": an IPv4 address, an IPv6 address in brackets, or a name. The
 *   server listens there; port 0 means a free one, and the entry "store/address" has the address in use.
 * @param[in] secret equal on all sides; optional, but required unless the address is that of the loopback.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out the store; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED (no plugin, or another version on the other side), IO (the
 *   address; the native code is errno), TIMEOUT, COMM (another secret), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_store_create_tcp(htone_context* context, const char* address, const char* secret,
                                              const htone_tcp_store_options* options, htone_store** out);

/** A store of the embedding program, such as one over its own connections. All functions may be called from any thread,
 * several at once; keys are text, values are bytes. A function returns HTONE_OK or an error, which the caller of the
 * group gets.
 */
typedef struct htone_store_functions {
  uint32_t struct_size; /**< sizeof of this structure */
  uint32_t reserved;    /**< 0 */
  void* user;           /**< handed to every function; optional */
  /** Sets a key's value. */
  htone_status (*set)(void* user, const char* key, const void* data, size_t size);
  /** Waits until the key exists, at most so long, and copies its value. *out_size receives its size. Returns
   * HTONE_ERROR_TIMEOUT, and HTONE_ERROR_BUFFER_TOO_SMALL without a copy if `capacity` is less than the size.
   */
  htone_status (*get)(void* user, const char* key, double timeout_seconds, void* out, size_t capacity,
                      size_t* out_size);
  /** Adds to a counter, a decimal number as text, and returns the sum; an absent key counts as 0. */
  htone_status (*add)(void* user, const char* key, int64_t amount, int64_t* out_sum);
  /** Replaces the value if it equals `expected`; NULL stands for an absent key on either side. *out_swapped receives 1
   * if it did, else 0. Atomic against every other function.
   */
  htone_status (*compare_set)(void* user, const char* key, const void* expected, size_t expected_size,
                              const void* desired, size_t desired_size, int32_t* out_swapped);
  /** Removes a key; *out_existed receives 1 if it existed, else 0. */
  htone_status (*remove)(void* user, const char* key, int32_t* out_existed);
} htone_store_functions;

/** An empty htone_store_functions of the right size, to initialize one where it is declared. */
#define HTONE_STORE_FUNCTIONS_INIT \
  { sizeof(htone_store_functions), 0, NULL, NULL, NULL, NULL, NULL, NULL }

/** Sets struct_size and empties the other fields, as HTONE_STORE_FUNCTIONS_INIT does.
 *
 * @param[out] functions caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_store_functions_init(htone_store_functions* functions);

/** Makes a store of functions of the caller's. They are also called by threads of the library.
 *
 * @param[in] context borrowed.
 * @param[in] functions every function is set; copied.
 * @param[in] destroy called once with `user` when the store is freed, from any thread; optional. On failure it does not
 *   run.
 * @param[out] out the store; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_store_create_callback(htone_context* context, const htone_store_functions* functions,
                                                   void (*destroy)(void* user), htone_store** out);

/** Sets a key's value.
 *
 * @param[in] store borrowed.
 * @param[in] key text; keys that begin with the name of a group belong to it.
 * @param[in] data [size] bytes; may be NULL if size is 0.
 * @param[in] size at most 1 MiB.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, IO, PEER_LOST, TIMEOUT, CALLBACK, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_store_set(htone_store* store, const char* key, const void* data, size_t size);

/** Waits until a key exists, and copies its value.
 *
 * @param[in] store borrowed.
 * @param[in] key text.
 * @param[in] timeout_seconds longest wait; at least 0.
 * @param[out] out [capacity] bytes; may be NULL if capacity is 0.
 * @param[in] capacity bytes that fit.
 * @param[out] out_size bytes of the value; also set on BUFFER_TOO_SMALL, which copies nothing.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, BUFFER_TOO_SMALL, TIMEOUT, IO, PEER_LOST, CALLBACK, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_store_get(htone_store* store, const char* key, double timeout_seconds, void* out,
                                       size_t capacity, size_t* out_size);

/** Adds to a counter, which other processes may do at the same time.
 *
 * @param[in] store borrowed.
 * @param[in] key an absent one counts as 0.
 * @param[in] amount may be negative.
 * @param[out] out_sum the counter's new value.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (the value is no number, or would overflow), IO, PEER_LOST, TIMEOUT,
 *   CALLBACK, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_store_add(htone_store* store, const char* key, int64_t amount, int64_t* out_sum);

/** Removes a key.
 *
 * @param[in] store borrowed.
 * @param[in] key text.
 * @param[out] out_existed 1 if the key existed, else 0.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, IO, PEER_LOST, TIMEOUT, CALLBACK, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_store_remove(htone_store* store, const char* key, int32_t* out_existed);

/** Adds a reference.
 *
 * @param[in] store a store.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_store_retain(htone_store* store);

/** Releases a reference. Groups keep the stores that they were created over.
 *
 * @param[in] store optional; a store.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_store_release(htone_store* store);

#ifdef __cplusplus
}
#endif

#endif
