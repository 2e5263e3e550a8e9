/** @file
 * Tensors: a shape and strides over shared storage on a device. This header makes, reads and writes tensors; arithmetic
 * is in ops.h.
 *
 * @code
 * const int64_t shape[] = {2, 3};
 * const float numbers[] = {1, 2, 3, 4, 5, 6};
 * check(htone_tensor_create_copy(device, HTONE_F32, 2, shape, numbers, &y));
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(memcmp(values, numbers, sizeof values) == 0);
 * @endcode
 */
#ifndef HALFTONE_TENSOR_H
#define HALFTONE_TENSOR_H

#include "halftone/device.h"
#include "halftone/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A tensor: a shape and strides over storage that several tensors may share. */
typedef struct htone_tensor htone_tensor;

/** The largest number of dimensions of a tensor. */
#define HTONE_MAX_NDIM 8

/** Makes a tensor of unspecified content.
 *
 * @param[in] device borrowed.
 * @param[in] dtype of the elements.
 * @param[in] ndim number of dimensions, 0 (a scalar) to HTONE_MAX_NDIM.
 * @param[in] shape [ndim] sizes of at least 0; optional if ndim is 0.
 * @param[out] out contiguous tensor; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_create(htone_device* device, htone_dtype dtype, int32_t ndim, const int64_t* shape,
                                           htone_tensor** out);

/** Makes a tensor whose elements all have one value.
 *
 * @param[in] device borrowed.
 * @param[in] dtype of the elements.
 * @param[in] ndim number of dimensions.
 * @param[in] shape [ndim] sizes; optional if ndim is 0.
 * @param[in] value converted to dtype as htone_cast does.
 * @param[out] out contiguous tensor; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_create_full(htone_device* device, htone_dtype dtype, int32_t ndim,
                                                const int64_t* shape, double value, htone_tensor** out);

/** Makes a tensor with a copy of the caller's elements.
 *
 * @param[in] device borrowed.
 * @param[in] dtype of the elements, also of those at `data`.
 * @param[in] ndim number of dimensions.
 * @param[in] shape [ndim] sizes; optional if ndim is 0.
 * @param[in] data row-major elements in host memory, any alignment; optional if there are none. Not kept.
 * @param[out] out contiguous tensor; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_create_copy(htone_device* device, htone_dtype dtype, int32_t ndim,
                                                const int64_t* shape, const void* data, htone_tensor** out);

/** Makes a tensor over the caller's own memory, without a copy.
 *
 * @param[in] device the device whose memory `data` points to; borrowed.
 * @param[in] dtype of the elements.
 * @param[in] ndim number of dimensions.
 * @param[in] shape [ndim] sizes; optional if ndim is 0.
 * @param[in] data row-major elements, aligned to the element size; optional if there are none. It must live until
 *   deleter runs.
 * @param[in] deleter called once with `user` after the last reference was released, from any thread; optional. On
 *   failure it does not run and the caller still owns the memory.
 * @param[in] user handed to deleter; optional.
 * @param[out] out contiguous tensor; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (misaligned), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_from_buffer(htone_device* device, htone_dtype dtype, int32_t ndim,
                                                const int64_t* shape, void* data, void (*deleter)(void* user),
                                                void* user, htone_tensor** out);

/** Makes a tensor over the caller's own memory with any strides, without a copy.
 *
 * @param[in] device the device whose memory `data` points to; borrowed.
 * @param[in] dtype of the elements.
 * @param[in] ndim number of dimensions.
 * @param[in] shape [ndim] sizes; optional if ndim is 0.
 * @param[in] strides [ndim] distances in elements, at least 0; optional if ndim is 0. If elements share memory, as
 *   with a stride of 0, the tensor is read-only: calls that write it in place fail with STATE.
 * @param[in] data the first element, aligned to the element size; optional if there are none. The memory reaches to
 *   the farthest element, at the sum of (size - 1) * stride, and must live until deleter runs.
 * @param[in] deleter as in htone_tensor_from_buffer; optional.
 * @param[in] user handed to deleter; optional.
 * @param[out] out the tensor; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (misaligned, a negative stride), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_from_buffer_strided(htone_device* device, htone_dtype dtype, int32_t ndim,
                                                        const int64_t* shape, const int64_t* strides, void* data,
                                                        void (*deleter)(void* user), void* user, htone_tensor** out);

/** Adds a reference.
 *
 * @param[in] tensor a tensor.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_retain(htone_tensor* tensor);

/** Releases a reference; the storage is freed with its last tensor.
 *
 * @param[in] tensor optional; a tensor.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_tensor_release(htone_tensor* tensor);

/** Returns the element type.
 *
 * @param[in] tensor borrowed.
 * @param[out] out_dtype the dtype.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_dtype(htone_tensor* tensor, htone_dtype* out_dtype);

/** Returns the number of elements.
 *
 * @param[in] tensor borrowed.
 * @param[out] out_count the product of the shape; 1 for a scalar.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_numel(htone_tensor* tensor, int64_t* out_count);

/** Returns the shape.
 *
 * @param[in] tensor borrowed.
 * @param[out] out_shape [*out_ndim] sizes; optional if capacity is 0.
 * @param[in] capacity entries at out_shape; HTONE_MAX_NDIM always suffices.
 * @param[out] out_ndim the number of dimensions, also if the buffer is too small.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, BUFFER_TOO_SMALL.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_shape(htone_tensor* tensor, int64_t* out_shape, int32_t capacity,
                                          int32_t* out_ndim);

/** Returns the strides in elements.
 *
 * @param[in] tensor borrowed.
 * @param[out] out_strides [*out_ndim] strides; optional if capacity is 0.
 * @param[in] capacity entries at out_strides; HTONE_MAX_NDIM always suffices.
 * @param[out] out_ndim the number of dimensions, also if the buffer is too small.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, BUFFER_TOO_SMALL.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_strides(htone_tensor* tensor, int64_t* out_strides, int32_t capacity,
                                            int32_t* out_ndim);

/** Returns the device of the tensor.
 *
 * @param[in] tensor borrowed.
 * @param[out] out the device; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_device(htone_tensor* tensor, htone_device** out);

/** Returns the address of the first element. The checks of backward do not notice a write to it: use
 * htone_tensor_write, or call htone_tensor_mark_written after the write.
 *
 * @param[in] tensor borrowed; the address is valid while the tensor lives.
 * @param[out] out_data address in the device's memory; NULL for an empty tensor.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_data(htone_tensor* tensor, void** out_data);

/** Copies all elements, in row-major order, into the caller's memory; waits for the device.
 *
 * @param[in] tensor borrowed.
 * @param[in] dtype of the elements at out_data; converted as htone_cast does.
 * @param[out] out_data host memory, any alignment.
 * @param[in] capacity bytes at out_data; at least the number of elements times the size of dtype.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, BUFFER_TOO_SMALL, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_read(htone_tensor* tensor, htone_dtype dtype, void* out_data, size_t capacity);

/** Replaces all elements, in row-major order, by the caller's.
 *
 * @param[in] tensor borrowed; a leaf or outside autograd.
 * @param[in] dtype of the elements at `data`; converted as htone_cast does.
 * @param[in] data host memory, any alignment.
 * @param[in] size bytes at data; exactly the number of elements times the size of dtype.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, STATE (a result that backward needs; read-only), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_write(htone_tensor* tensor, htone_dtype dtype, const void* data, size_t size);

/** Reports that the caller wrote the tensor's memory itself. From now on a backward that saved the tensor fails with
 * STATE, and the low-precision copy of a parameter over this memory is stale until the next step writes it.
 *
 * @param[in] tensor borrowed.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_mark_written(htone_tensor* tensor);

/** Returns the value of a tensor with one element; waits for the device.
 *
 * @param[in] tensor one element, any dtype; borrowed.
 * @param[out] out_value the value; integers beyond 2^53 are rounded.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH (not one element).
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_item(htone_tensor* tensor, double* out_value);

/** Sets every element to one value.
 *
 * @param[in] tensor borrowed; a leaf or outside autograd.
 * @param[in] value converted as htone_cast does.
 * @errors INVALID_HANDLE, STATE (a result that backward needs; read-only).
 * @since 0.1
 */
HTONE_API htone_status htone_tensor_fill(htone_tensor* tensor, double value);

#ifdef __cplusplus
}
#endif

#endif
