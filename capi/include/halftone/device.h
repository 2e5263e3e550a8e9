/** @file
 * Devices and their memory. A device belongs to a context; tensors are on a device.
 *
 * @code
 * htone_memory_stats stats = HTONE_MEMORY_STATS_INIT;
 * check(htone_device_create(context, "cpu", &device));
 * check(htone_device_memory_stats(device, &stats));
 * assert(stats.current >= 6 * 4); // those of x
 * check(htone_device_set_memory_limit(device, INT64_C(1) << 30));
 * @endcode
 *
 * The device "meta" plans memory. Tensors on it have shapes and no values: operations check their arguments and
 * allocate their results as on the CPU, but compute nothing and touch no memory. Build a model and train it for two
 * steps there (the first makes the optimizer's state): the counters then show what the same program needs on the CPU,
 * by category, also for models that this machine cannot hold. Numbers that are read back have no meaning.
 *
 * @code
 * htone_device* meta;
 * const int64_t large[] = {1 << 20, 1 << 10};
 * htone_tensor* batch;
 * check(htone_device_create(context, "meta", &meta));
 * check(htone_tensor_create_zeros(meta, HTONE_F32, 2, large, &batch));
 * htone_memory_stats plan = HTONE_MEMORY_STATS_INIT;
 * check(htone_device_memory_stats(meta, &plan));
 * assert(plan.peak == INT64_C(4) << 30 && plan.peak_by_category[HTONE_MEMORY_OTHER] == plan.peak);
 * @endcode
 */
#ifndef HALFTONE_DEVICE_H
#define HALFTONE_DEVICE_H

#include "halftone/context.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A device of a context. */
typedef struct htone_device htone_device;

/** The kinds of devices. */
typedef enum htone_device_type {
  HTONE_DEVICE_CPU = 1,                   /**< the processor and its memory */
  HTONE_DEVICE_CUDA = 2,                  /**< an NVIDIA GPU */
  HTONE_DEVICE_OTHER = 3,                 /**< a device of a plugin */
  HTONE_DEVICE_TYPE_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_device_type;

/** Settings that some devices have, each a number. */
typedef enum htone_device_option {
  /** 1: products of f32 matrices may round their operands to TF32 (10 bits after the point instead of 23), which GPUs
   * multiply several times faster; sums stay in FP32. Convolutions are such products, attention is not. The CPU, which
   * gains nothing by it, rounds both operands to nearest even, so that it shows what a run in TF32 would give. Default
   * 0. CUDA devices and the CPU. */
  HTONE_DEVICE_TF32_PRODUCTS = 1,
  /** 1: memory that the device allocates from now on is managed: it may exceed the GPU's memory, and its pages move
   * between GPU and CPU as they are used. Default 0. CUDA devices. */
  HTONE_DEVICE_MANAGED_MEMORY = 2,
  /** 1: a product whose result is f16 or bf16 and ends in GELU by tanh, or in its gradient, may leave that end to
   * cuBLASLt, which saves a pass over the result. NVIDIA does not state the precision of that GELU; its relative
   * precision may be low for arguments far below 0. Default 0. CUDA devices. */
  HTONE_DEVICE_FUSED_GELU = 3,
  HTONE_DEVICE_OPTION_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_device_option;

/** The purposes of memory; the index into htone_memory_stats.by_category. */
typedef enum htone_memory_category {
  HTONE_MEMORY_OTHER = 0,                     /**< none of the others: constants, data, results of operations that were
                                                   not recorded, gradients within backward */
  HTONE_MEMORY_PARAMETERS = 1,                /**< weights, masters and low-precision copies */
  HTONE_MEMORY_GRADIENTS = 2,                 /**< gradients of parameters */
  HTONE_MEMORY_OPTIMIZER = 3,                 /**< moments and other state of optimizers */
  HTONE_MEMORY_ACTIVATIONS = 4,               /**< results of recorded operations, and what these keep for backward */
  HTONE_MEMORY_COMMUNICATION = 5,             /**< buffers of communication */
  HTONE_MEMORY_WORKSPACE = 6,                 /**< memory that an operation needs while it runs */
  HTONE_MEMORY_CATEGORY_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_memory_category;

/** Counters of htone_device_memory_stats. */
typedef struct htone_memory_stats {
  uint32_t struct_size;        /**< set by the caller to sizeof(htone_memory_stats) */
  uint32_t reserved_field;     /**< 0 */
  int64_t current;             /**< requested bytes that are alive */
  int64_t peak;                /**< the highest `current` since the last reset */
  int64_t reserved;            /**< bytes taken from the device, in use or cached */
  int64_t limit;               /**< bound on `reserved`; 0 is none */
  int64_t allocations;         /**< requests served */
  int64_t device_allocations;  /**< requests that the cache could not serve */
  int64_t by_category[8];      /**< `current` by HTONE_MEMORY_...; unused entries are 0 */
  int64_t peak_by_category[8]; /**< by_category when `current` was at its peak */
} htone_memory_stats;

/** An empty htone_memory_stats of the right size, to initialize one where it is declared. */
#define HTONE_MEMORY_STATS_INIT                                                                           \
  {                                                                                                       \
    sizeof(htone_memory_stats), 0, 0, 0, 0, 0, 0, 0, {0, 0, 0, 0, 0, 0, 0, 0}, { 0, 0, 0, 0, 0, 0, 0, 0 } \
  }

/** Finds a device by name: "cpu", "cuda", "cuda:1", "meta", or the name of a device of a loaded plugin. The devices
 * "cuda" are in libhalftone_cuda.so, which is loaded if it lies beside the library.
 *
 * @param[in] context borrowed.
 * @param[in] name zero-terminated.
 * @param[out] out the device; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DEVICE (there is no such device), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_device_create(htone_context* context, const char* name, htone_device** out);

/** Adds a reference.
 *
 * @param[in] device a device.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_device_retain(htone_device* device);

/** Releases a reference.
 *
 * @param[in] device optional; a device.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_device_release(htone_device* device);

/** Returns the kind of a device.
 *
 * @param[in] device borrowed.
 * @param[out] out_kind HTONE_DEVICE_CPU, HTONE_DEVICE_CUDA or HTONE_DEVICE_OTHER.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_device_kind(htone_device* device, htone_device_type* out_kind);

/** Returns the device's full name: "cpu", "cuda:0".
 *
 * @param[in] device borrowed.
 * @param[out] out_name caller's memory; always ends with a zero byte.
 * @param[in] capacity bytes at out_name.
 * @param[out] out_length the length without the zero byte, also if the buffer is too small.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, BUFFER_TOO_SMALL.
 * @since 0.1
 */
HTONE_API htone_status htone_device_name(htone_device* device, char* out_name, size_t capacity, size_t* out_length);

/** Changes a setting of a device, for the work and the memory from now on.
 *
 * @param[in] device borrowed.
 * @param[in] option HTONE_DEVICE_TF32_PRODUCTS, HTONE_DEVICE_MANAGED_MEMORY or HTONE_DEVICE_FUSED_GELU.
 * @param[in] value 0 or 1.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (another option or value), UNSUPPORTED (an option that the device lacks).
 * @since 0.1
 */
HTONE_API htone_status htone_device_set_option(htone_device* device, htone_device_option option, int64_t value);

/** Waits until all work of the device so far has run.
 *
 * @param[in] device borrowed.
 * @errors INVALID_HANDLE, DEVICE (an earlier operation failed).
 * @since 0.1
 */
HTONE_API htone_status htone_device_synchronize(htone_device* device);

/** Sets struct_size and empties the other fields, as HTONE_MEMORY_STATS_INIT does.
 *
 * @param[out] stats caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_memory_stats_init(htone_memory_stats* stats);

/** Reads the memory counters.
 *
 * @param[in] device borrowed.
 * @param[in,out] out_stats struct_size set by the caller; the other fields are written.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_device_memory_stats(htone_device* device, htone_memory_stats* out_stats);

/** Resets the peak counter to the current use.
 *
 * @param[in] device borrowed.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_device_reset_peak_memory(htone_device* device);

/** Bounds the memory that the library reserves on the device; a request beyond it is OUT_OF_MEMORY.
 *
 * @param[in] device borrowed.
 * @param[in] bytes the bound on reserved bytes; 0 removes it. Memory that is already in use stays.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (negative).
 * @since 0.1
 */
HTONE_API htone_status htone_device_set_memory_limit(htone_device* device, int64_t bytes);

/** Returns cached memory that is not in use to the system.
 *
 * @param[in] device borrowed.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_device_release_cached(htone_device* device);

#ifdef __cplusplus
}
#endif

#endif
