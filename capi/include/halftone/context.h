/** @file
 * The context: threads, devices, memory, files, time and seed of everything that is made in it. A program may have
 * several; no operation accepts tensors of two contexts. Objects keep their context alive, so it may be released before
 * them.
 *
 * @code
 * htone_context_options options = HTONE_CONTEXT_OPTIONS_INIT;
 * int32_t threads;
 * options.num_threads = 2;
 * options.seed = 42;
 * check(htone_context_create(&options, &context));
 * check(htone_context_num_threads(context, &threads));
 * assert(threads == 2);
 * @endcode
 */
#ifndef HALFTONE_CONTEXT_H
#define HALFTONE_CONTEXT_H

#include "halftone/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A context: threads, devices, memory, files, time and seed of the objects that are made in it. */
typedef struct htone_context htone_context;

/** The source of host memory. Both functions are called from any thread, and the library never waits for a lock of the
 * caller meanwhile. They, and those of the other tables, follow the rules of callbacks (custom.h).
 */
typedef struct htone_allocator {
  uint32_t struct_size; /**< sizeof of this structure */
  uint32_t reserved;    /**< 0 */
  void* user;           /**< handed to every function; optional */
  /** Returns `size` bytes aligned to `alignment` (a power of two, at most 4096), or NULL. */
  void* (*allocate)(void* user, size_t size, size_t alignment);
  /** Frees memory that allocate returned, with the same size. */
  void (*deallocate)(void* user, void* memory, size_t size);
} htone_allocator;

/** An empty htone_allocator of the right size, to initialize one where it is declared. */
#define HTONE_ALLOCATOR_INIT \
  { sizeof(htone_allocator), 0, NULL, NULL, NULL }

/** Access to files. Every function returns at least 0, or -errno; reads and writes may be short; it is an error if one
 * returns more bytes than were requested. `flags` are those of open(2). The library holds no lock meanwhile, and the
 * objects of the call stay alive, even if the function releases the last handle of one.
 */
typedef struct htone_io {
  uint32_t struct_size; /**< sizeof of this structure */
  uint32_t reserved;    /**< 0 */
  void* user;           /**< handed to every function; optional */
  /** Opens a file and returns its number. */
  int64_t (*open)(void* user, const char* path, int32_t flags, uint32_t mode);
  /** Closes a file. */
  int64_t (*close)(void* user, int64_t file);
  /** Returns the number of bytes that were read. */
  int64_t (*read)(void* user, int64_t file, uint64_t offset, void* buffer, size_t size);
  /** Returns the number of bytes that were written. */
  int64_t (*write)(void* user, int64_t file, uint64_t offset, const void* buffer, size_t size);
  /** Returns the number of bytes of a file. */
  int64_t (*size)(void* user, int64_t file);
  /** Makes the content of a file or directory durable. */
  int64_t (*sync)(void* user, int64_t file);
  /** Renames a file; replaces one that has the new name. */
  int64_t (*rename)(void* user, const char* from, const char* to);
  /** Removes a file or an empty directory. */
  int64_t (*remove)(void* user, const char* path);
  /** Makes a directory. */
  int64_t (*make_directory)(void* user, const char* path, uint32_t mode);
  /** Calls take(taker, name) for every name in a directory but "." and "..", until it returns a value below 0; returns
   * 0 or that value.
   */
  int64_t (*list)(void* user, const char* path, int64_t (*take)(void* taker, const char* name), void* taker);
  /** Takes an exclusive lock that ends with close; -EWOULDBLOCK if another holds it. A fork calls no function of this
   * table, since another thread may be in it. If a child inherits the lock, as with flock(2), the program must close
   * the file in the child (pthread_atfork); otherwise the directory stays locked until the child ends.
   */
  int64_t (*lock)(void* user, int64_t file);
} htone_io;

/** An empty htone_io of the right size, to initialize one where it is declared. */
#define HTONE_IO_INIT \
  { sizeof(htone_io), 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL }

/** The source of time, in nanoseconds. */
typedef struct htone_clock {
  uint32_t struct_size; /**< sizeof of this structure */
  uint32_t reserved;    /**< 0 */
  void* user;           /**< handed to every function; optional */
  /** Returns a time that never goes back. */
  int64_t (*monotonic_ns)(void* user);
  /** Returns the time since 1970. */
  int64_t (*wall_ns)(void* user);
} htone_clock;

/** An empty htone_clock of the right size, to initialize one where it is declared. */
#define HTONE_CLOCK_INIT \
  { sizeof(htone_clock), 0, NULL, NULL, NULL }

/** The precision of products of two f32 operands. */
typedef enum htone_matmul_precision {
  HTONE_MATMUL_PRECISION_HIGHEST = 0, /**< that of f32 */
  HTONE_MATMUL_PRECISION_TF32 = 1,    /**< operands may be rounded to TF32: HTONE_DEVICE_TF32_PRODUCTS of device.h */
  HTONE_MATMUL_PRECISION_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_matmul_precision;

/** Settings of htone_context_create. */
typedef struct htone_context_options {
  uint32_t struct_size; /**< sizeof of this structure */
  int32_t num_threads;  /**< 0: variable HALFTONE_NUM_THREADS, else as many as affinity and cgroup quota allow; at most
                           256 */
  uint64_t seed;        /**< of initialisations and random tensors; default 0 */
  /** The source of memory; NULL means the C library. This table and the next two are copied; their `user` must outlive
   * the context.
   */
  const htone_allocator* allocator;
  const htone_io* io;       /**< access to files; NULL means the operating system */
  const htone_clock* clock; /**< the source of time; NULL means the operating system */
  /** The precision with which every device of the context begins; htone_device_set_option changes that of one, by
   * HTONE_DEVICE_TF32_PRODUCTS. Default HTONE_MATMUL_PRECISION_HIGHEST.
   */
  htone_matmul_precision matmul_precision;
  int32_t reserved; /**< 0 */
} htone_context_options;

/** The defaults, to initialize a htone_context_options where it is declared. */
#define HTONE_CONTEXT_OPTIONS_INIT \
  { sizeof(htone_context_options), 0, 0, NULL, NULL, NULL, HTONE_MATMUL_PRECISION_HIGHEST, 0 }

/** Sets struct_size and empties the other fields, as HTONE_ALLOCATOR_INIT does.
 *
 * @param[out] allocator caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_allocator_init(htone_allocator* allocator);

/** Sets struct_size and empties the other fields, as HTONE_IO_INIT does.
 *
 * @param[out] io caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_io_init(htone_io* io);

/** Sets struct_size and empties the other fields, as HTONE_CLOCK_INIT does.
 *
 * @param[out] clock caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_clock_init(htone_clock* clock);

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_context_options_init(htone_context_options* options);

/** Makes a context. Its threads start with the first work that needs them.
 *
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out the context; owned by the caller.
 * @errors INVALID_ARGUMENT (num_threads outside [0, 256], no precision, a table with a NULL function),
 *   UNSUPPORTED (options of a newer version), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_context_create(const htone_context_options* options, htone_context** out);

/** Returns the context that the library makes on first use, with default options, and keeps for the process.
 *
 * @param[out] out the context; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_context_default(htone_context** out);

/** Adds a reference.
 *
 * @param[in] context a context.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_context_retain(htone_context* context);

/** Releases a reference.
 *
 * @param[in] context optional; a context.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_context_release(htone_context* context);

/** Returns the number of threads that compute, including the caller's.
 *
 * @param[in] context borrowed.
 * @param[out] out_count the number of threads.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_context_num_threads(htone_context* context, int32_t* out_count);

/** Loads a plugin, a shared object that provides further devices. It stays loaded until the process ends.
 *
 * @param[in] context borrowed.
 * @param[in] path of the file, UTF-8.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, IO (cannot be loaded), FORMAT (no plugin), UNSUPPORTED (of another build),
 *   OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_context_load_plugin(htone_context* context, const char* path);

#ifdef __cplusplus
}
#endif

#endif
