/** @file
 * Tensors of given content: constants, tensors like another one, equally spaced numbers, matrices of ones and zeros,
 * and random numbers. htone_tensor_create_full is in tensor.h.
 *
 * @code
 * check(htone_arange(device, HTONE_F32, 0, 6, 1, &y));
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(values[0] == 0 && values[5] == 5);
 * @endcode
 */
#ifndef HALFTONE_FACTORY_H
#define HALFTONE_FACTORY_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Makes a tensor of zeros.
 *
 * @param[in] device borrowed.
 * @param[in] dtype of the elements.
 * @param[in] ndim number of dimensions.
 * @param[in] shape [ndim] sizes; optional where ndim is 0.
 * @param[out] out contiguous tensor; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_create_zeros(htone_device* device, htone_dtype dtype, int32_t ndim,
                                                 const int64_t* shape, htone_tensor** out);

/** Makes a tensor of ones.
 *
 * @param[in] device borrowed.
 * @param[in] dtype of the elements.
 * @param[in] ndim number of dimensions.
 * @param[in] shape [ndim] sizes; optional where ndim is 0.
 * @param[out] out contiguous tensor; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_create_ones(htone_device* device, htone_dtype dtype, int32_t ndim,
                                                const int64_t* shape, htone_tensor** out);

/** Makes a tensor of zeros with the shape, dtype and device of another one.
 *
 * @param[in] tensor any shape and dtype; borrowed.
 * @param[out] out contiguous tensor, without gradient; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_zeros_like(htone_tensor* tensor, htone_tensor** out);

/** Makes a tensor of ones with the shape, dtype and device of another one.
 *
 * @param[in] tensor any shape and dtype; borrowed.
 * @param[out] out contiguous tensor, without gradient; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_ones_like(htone_tensor* tensor, htone_tensor** out);

/** Makes a tensor of one value with the shape, dtype and device of another one.
 *
 * @param[in] tensor any shape and dtype; borrowed.
 * @param[in] value converted to the dtype of tensor as htone_cast does.
 * @param[out] out contiguous tensor, without gradient; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_full_like(htone_tensor* tensor, double value, htone_tensor** out);

/** Makes a tensor of `count` equally spaced numbers from start to end, both included.
 *
 * @param[in] device borrowed.
 * @param[in] dtype of the elements, not bool; fractions are dropped for an integer.
 * @param[in] start,end finite, as their difference is.
 * @param[in] count how many, at least 0; a single number is start.
 * @param[out] out [count]; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @precision in double from the nearer end, so that both ends are exact; converted to dtype as htone_cast does.
 * @source torch.linspace.
 * @since 0.1
 */
HTONE_API htone_status htone_linspace(htone_device* device, htone_dtype dtype, double start, double end, int64_t count,
                                      htone_tensor** out);

/** Makes a matrix with ones on the main diagonal and zeros elsewhere.
 *
 * @param[in] device borrowed.
 * @param[in] dtype of the elements.
 * @param[in] rows,columns sizes of at least 0.
 * @param[out] out [rows, columns]; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @source torch.eye.
 * @since 0.1
 */
HTONE_API htone_status htone_eye(htone_device* device, htone_dtype dtype, int64_t rows, int64_t columns,
                                 htone_tensor** out);

/** Makes a vector for every index, with 1 at the index and 0 elsewhere.
 *
 * @param[in] indices i64 or i32, at most 7 dimensions, in [0, classes); borrowed.
 * @param[in] classes length of the vectors, at least 1.
 * @param[out] out shape of indices and then [classes], i64; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (an index outside), DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @source torch.nn.functional.one_hot, which can also derive classes from the largest index.
 * @since 0.1
 */
HTONE_API htone_status htone_one_hot(htone_tensor* indices, int64_t classes, htone_tensor** out);

/** Makes a tensor of equally spaced numbers: start, start + step, and so on, up to but without `end`.
 *
 * @param[in] device borrowed.
 * @param[in] dtype of the elements, not bool; an integer holds every number exactly.
 * @param[in] start,end finite; whole numbers within +-2^52 if dtype is an integer.
 * @param[in] step finite, not 0, from start towards end; whole if dtype is an integer.
 * @param[out] out [(end - start) / step, rounded up]; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @precision start + i * step in double, converted to dtype as htone_cast does.
 * @source torch.arange.
 * @since 0.1
 */
HTONE_API htone_status htone_arange(htone_device* device, htone_dtype dtype, double start, double end, double step,
                                    htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
