/** @file
 * Products over dimensions, and running products. What ops.h says of operations is true here.
 *
 * @code
 * check(htone_prod(x, 0, NULL, 0, &y));
 * check(htone_tensor_item(y, &number));
 * assert(number == 720);
 * @endcode
 */
#ifndef HALFTONE_PRODUCT_H
#define HALFTONE_PRODUCT_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Multiplies elements over dimensions. The gradient of an element is the product of the others, also where elements
 * are 0.
 *
 * @param[in] input any shape and dtype but 8-bit floats; borrowed.
 * @param[in] dim_count number of dimensions; 0 means all.
 * @param[in] dims [dim_count] different dimensions, negative from the end; optional where dim_count is 0.
 * @param[in] keepdim not 0 keeps the reduced dimensions with size 1.
 * @param[out] out dtype of input for floats, i64 for integers and bool; owned by the caller. Of no elements it is 1.
 * @autocast FP32; 16-bit input is read as it is and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision multiplied in double, one rounding; integers in 64 bits, wrapping.
 * @source torch.prod.
 * @since 0.1
 */
HTONE_API htone_status htone_prod(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                                  htone_tensor** out);

/** Multiplies along a dimension, up to and with each element: out[i] = input[0] ... input[i]. The gradient is right
 * also where elements are 0.
 *
 * @param[in] input any shape and dtype but 8-bit floats; borrowed.
 * @param[in] dim the dimension, negative from the end.
 * @param[out] out shape of input; dtype of input for floats, i64 for integers and bool; owned by the caller.
 * @autocast FP32; 16-bit input is read as it is and widened.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision multiplied one by one in double, one rounding; integers in 64 bits, wrapping.
 * @source torch.cumprod.
 * @since 0.1
 */
HTONE_API htone_status htone_cumprod(htone_tensor* input, int64_t dim, htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
