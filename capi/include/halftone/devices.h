/** @file
 * The devices that there are, and how the CPU computes. device.h has the devices themselves.
 *
 * @code
 * htone_device_info info = HTONE_DEVICE_INFO_INIT;
 * size_t devices;
 * check(htone_context_device_count(context, &devices));
 * check(htone_context_device_info(context, 0, &info));
 * assert(devices >= 1 && info.type == HTONE_DEVICE_CPU && strcmp(info.name, "cpu") == 0);
 * @endcode
 */
#ifndef HALFTONE_DEVICES_H
#define HALFTONE_DEVICES_H

#include "halftone/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A device that htone_device_create finds. */
typedef struct htone_device_info {
  uint32_t struct_size;   /**< set by the caller to sizeof(htone_device_info) */
  htone_device_type type; /**< HTONE_DEVICE_CPU, HTONE_DEVICE_CUDA or HTONE_DEVICE_OTHER */
  char name[48];          /**< for htone_device_create: "cpu", "cuda:0"; always ends with a zero byte */
} htone_device_info;

/** An empty htone_device_info of the right size, to initialize one where it is declared. */
#define HTONE_DEVICE_INFO_INIT \
  { sizeof(htone_device_info), HTONE_DEVICE_OTHER, "" }

/** Returns how many devices there are: the CPU, and those that loaded plugins serve.
 *
 * @param[in] context borrowed.
 * @param[out] out_count the number of devices.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_context_device_count(htone_context* context, size_t* out_count);

/** Sets struct_size and empties the other fields, as HTONE_DEVICE_INFO_INIT does.
 *
 * @param[out] info caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_device_info_init(htone_device_info* info);

/** Describes one of the devices that there are, without making it.
 *
 * @param[in] context borrowed.
 * @param[in] index below the number of devices; 0 is the CPU.
 * @param[in,out] out_info struct_size set by the caller; the other fields are written.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_context_device_info(htone_context* context, size_t index, htone_device_info* out_info);

/** The instructions of this machine's CPU, and what the kernels use of them. */
typedef struct htone_cpu_features {
  uint32_t struct_size;       /**< set by the caller to sizeof(htone_cpu_features) */
  int32_t has_bf16_products;  /**< not 0: the CPU has an instruction for sums of products of BF16 numbers */
  int32_t uses_bf16_products; /**< not 0: BF16 matrices are multiplied by it, since it was measured to be faster */
  uint32_t reserved;          /**< 0 */
  char instruction_set[16];   /**< of the kernels: "AVX3" (AVX-512), "AVX2" or "SCALAR" */
} htone_cpu_features;

/** An empty htone_cpu_features of the right size, to initialize one where it is declared. */
#define HTONE_CPU_FEATURES_INIT \
  { sizeof(htone_cpu_features), 0, 0, 0, "" }

/** Sets struct_size and empties the other fields, as HTONE_CPU_FEATURES_INIT does.
 *
 * @param[out] features caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_cpu_features_init(htone_cpu_features* features);

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
