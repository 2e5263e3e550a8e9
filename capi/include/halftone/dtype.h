/** @file
 * Element types. 16-bit and 8-bit floats pass through the interface as integers of their size.
 *
 * @code
 * htone_dtype dtype;
 * size_t bytes;
 * check(htone_dtype_promote(HTONE_BF16, HTONE_F16, &dtype));
 * check(htone_dtype_size(dtype, &bytes));
 * assert(strcmp(htone_dtype_name(dtype), "f32") == 0 && bytes == 4);
 * @endcode
 */
#ifndef HALFTONE_DTYPE_H
#define HALFTONE_DTYPE_H

#include "halftone/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Types of elements. */
typedef enum htone_dtype {
  HTONE_F64 = 1,                    /**< IEEE binary64 */
  HTONE_F32 = 2,                    /**< IEEE binary32 */
  HTONE_F16 = 3,                    /**< IEEE binary16 */
  HTONE_BF16 = 4,                   /**< the upper half of an FP32 */
  HTONE_F8E4M3 = 5,                 /**< OCP e4m3fn: no infinities, largest finite 448 */
  HTONE_F8E5M2 = 6,                 /**< OCP e5m2 */
  HTONE_I64 = 7,                    /**< signed, 64 bits */
  HTONE_I32 = 8,                    /**< signed, 32 bits */
  HTONE_I16 = 9,                    /**< signed, 16 bits */
  HTONE_I8 = 10,                    /**< signed, 8 bits */
  HTONE_U8 = 11,                    /**< unsigned, 8 bits */
  HTONE_BOOL = 12,                  /**< one byte, 0 or 1 */
  HTONE_DTYPE_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_dtype;

/** Names a dtype: "bf16"; "invalid" for any other value.
 *
 * @param[in] dtype any value.
 * @return a string that lives as long as the library.
 * @since 0.1
 */
HTONE_EXPORT const char* htone_dtype_name(htone_dtype dtype);

/** Returns the size of one element.
 *
 * @param[in] dtype a dtype.
 * @param[out] out_bytes 1, 2, 4 or 8.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_dtype_size(htone_dtype dtype, size_t* out_bytes);

/** Returns the dtype in which elementwise operations on two tensors compute their result.
 *
 * @param[in] a,b dtypes.
 * @param[out] out_dtype the common dtype.
 * @errors INVALID_ARGUMENT.
 * @source torch.promote_types; additionally two different 8-bit floats promote to f16.
 * @since 0.1
 */
HTONE_API htone_status htone_dtype_promote(htone_dtype a, htone_dtype b, htone_dtype* out_dtype);

#ifdef __cplusplus
}
#endif

#endif
