/** @file
 * The devices that there are, and how the CPU computes. device.h has the devices themselves.
 */
#ifndef HALFTONE_DEVICES_H
#define HALFTONE_DEVICES_H

#include "halftone/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct htone_device_info {
  uint32_t struct_size; /**< set by the caller to sizeof(htone_device_info) */
  int32_t kind;         /**< HTONE_DEVICE_CPU, HTONE_DEVICE_CUDA or HTONE_DEVICE_OTHER */
  char name[48];        /**< for htone_device_create: "cpu", "cuda:0"; always ends with a zero byte */
} htone_device_info;

/** Returns how many devices there are: the CPU, and those that loaded plugins serve.
 *
 * @param[in] context borrowed.
 * @param[out] out_count the number of devices.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_context_device_count(htone_context* context, size_t* out_count);

/** Describes one of the devices that there are, without making it.
 *
 * @param[in] context borrowed.
 * @param[in] index below the number of devices; 0 is the CPU.
 * @param[in,out] out_info struct_size set by the caller; the other fields are written.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_context_device_info(htone_context* context, size_t index, htone_device_info* out_info);

typedef struct htone_cpu_features {
  uint32_t struct_size;       /**< set by the caller to sizeof(htone_cpu_features) */
  int32_t has_bf16_products;  /**< not 0: the CPU has an instruction for sums of products of BF16 numbers */
  int32_t uses_bf16_products; /**< not 0: BF16 matrices are multiplied by it, since it was measured to be faster */
  uint32_t reserved;          /**< 0 */
  char instruction_set[16];   /**< of the kernels: "AVX3" (AVX-512), "AVX2" or "SCALAR" */
} htone_cpu_features;

/** Describes how this CPU computes. The first call measures for some microseconds.
 *
 * @param[in,out] out_features struct_size set by the caller; the other fields are written.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_cpu_describe(htone_cpu_features* out_features);

#ifdef __cplusplus
}
#endif

#endif
