/* Tensors: a shape and strides over shared storage on a device. Making, reading and writing them; arithmetic is in
 * ops.h.
 */
#ifndef HALFTONE_TENSOR_H
#define HALFTONE_TENSOR_H

#include "halftone/device.h"
#include "halftone/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct htone_tensor htone_tensor;

/* Most dimensions a tensor has. */
#define HTONE_MAX_NDIM 8

/* Makes a tensor of unspecified content.
 *
 * [in] device: borrowed.
 * [in] dtype: of the elements.
 * [in] ndim: number of dimensions, 0 (a scalar) to HTONE_MAX_NDIM.
 * [in] shape: [ndim] sizes of at least 0; optional where ndim is 0.
 * [out] out: contiguous tensor; owned by the caller.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * Since: 0.1
 */
HTONE_API htone_status htone_tensor_create(htone_device* device, htone_dtype dtype, int32_t ndim, const int64_t* shape,
                                           htone_tensor** out);

/* Makes a tensor whose elements all have one value.
 *
 * [in] device: borrowed.
 * [in] dtype: of the elements.
 * [in] ndim: number of dimensions.
 * [in] shape: [ndim] sizes; optional where ndim is 0.
 * [in] value: converted to dtype as htone_cast does.
 * [out] out: contiguous tensor; owned by the caller.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * Since: 0.1
 */
HTONE_API htone_status htone_tensor_create_full(htone_device* device, htone_dtype dtype, int32_t ndim,
                                                const int64_t* shape, double value, htone_tensor** out);

/* Makes a tensor of equally spaced numbers: start, start + step, and so on, up to but without `end`.
 *
 * [in] device: borrowed.
 * [in] dtype: of the elements, not bool; an integer holds every number exactly.
 * [in] start, end: finite; whole numbers within +-2^52 where dtype is an integer.
 * [in] step: finite, not 0, from start towards end; whole where dtype is an integer.
 * [out] out: [(end - start) / step, rounded up]; owned by the caller.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * Precision: start + i * step in double, converted to dtype as htone_cast does.
 * Source: torch.arange.
 * Since: 0.1
 */
HTONE_API htone_status htone_arange(htone_device* device, htone_dtype dtype, double start, double end, double step,
                                    htone_tensor** out);

/* Makes a tensor with a copy of the caller's elements.
 *
 * [in] device: borrowed.
 * [in] dtype: of the elements, at `data` too.
 * [in] ndim: number of dimensions.
 * [in] shape: [ndim] sizes; optional where ndim is 0.
 * [in] data: row-major elements on the host, any alignment; optional where there are none. Not kept.
 * [out] out: contiguous tensor; owned by the caller.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * Since: 0.1
 */
HTONE_API htone_status htone_tensor_create_copy(htone_device* device, htone_dtype dtype, int32_t ndim,
                                                const int64_t* shape, const void* data, htone_tensor** out);

/* Makes a tensor over the caller's own memory, without a copy.
 *
 * [in] device: a device whose memory `data` is; borrowed.
 * [in] dtype: of the elements.
 * [in] ndim: number of dimensions.
 * [in] shape: [ndim] sizes; optional where ndim is 0.
 * [in] data: row-major elements, aligned to the element size; optional where there are none. Lives until deleter runs.
 * [in] deleter: called once with `user` after the last reference went, from any thread; optional. On failure it does
 *   not run and the caller still owns the memory.
 * [in] user: handed to deleter; optional.
 * [out] out: contiguous tensor; owned by the caller.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT (misaligned), OUT_OF_MEMORY.
 * Since: 0.1
 */
HTONE_API htone_status htone_tensor_from_buffer(htone_device* device, htone_dtype dtype, int32_t ndim,
                                                const int64_t* shape, void* data, void (*deleter)(void* user),
                                                void* user, htone_tensor** out);

/* Makes a tensor over the caller's own memory that does not lie in row-major order, without a copy.
 *
 * [in] device: a device whose memory `data` is; borrowed.
 * [in] dtype: of the elements.
 * [in] ndim: number of dimensions.
 * [in] shape: [ndim] sizes; optional where ndim is 0.
 * [in] strides: [ndim] distances in elements, at least 0; optional where ndim is 0. Where elements share memory, as
 *   by a stride of 0, the tensor is read-only: what writes in place answers STATE.
 * [in] data: the first element, aligned to the element size; optional where there are none. The memory reaches to the
 *   farthest element, by the sum of (size - 1) * stride, and lives until deleter runs.
 * [in] deleter: as in htone_tensor_from_buffer; optional.
 * [in] user: handed to deleter; optional.
 * [out] out: the tensor; owned by the caller.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT (misaligned, a negative stride), OUT_OF_MEMORY.
 * Since: 0.1
 */
HTONE_API htone_status htone_tensor_from_buffer_strided(htone_device* device, htone_dtype dtype, int32_t ndim,
                                                        const int64_t* shape, const int64_t* strides, void* data,
                                                        void (*deleter)(void* user), void* user, htone_tensor** out);

/* Adds a reference.
 *
 * [in] tensor: a tensor.
 * Errors: INVALID_HANDLE.
 * Since: 0.1
 */
HTONE_API htone_status htone_tensor_retain(htone_tensor* tensor);

/* Gives a reference back; the storage goes with its last tensor.
 *
 * [in] tensor: optional; a tensor.
 * Errors: INVALID_HANDLE.
 * Since: 0.1
 */
HTONE_API htone_status htone_tensor_release(htone_tensor* tensor);

/* Answers the element type.
 *
 * [in] tensor: borrowed.
 * [out] out_dtype: the dtype.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT.
 * Since: 0.1
 */
HTONE_API htone_status htone_tensor_dtype(htone_tensor* tensor, htone_dtype* out_dtype);

/* Answers the number of elements.
 *
 * [in] tensor: borrowed.
 * [out] out_count: the product of the shape; 1 for a scalar.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT.
 * Since: 0.1
 */
HTONE_API htone_status htone_tensor_numel(htone_tensor* tensor, int64_t* out_count);

/* Answers the shape.
 *
 * [in] tensor: borrowed.
 * [in] capacity: entries at out_shape; HTONE_MAX_NDIM always suffices.
 * [out] out_shape: [*out_ndim] sizes; optional where capacity is 0.
 * [out] out_ndim: the number of dimensions, also where the buffer is too small.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, BUFFER_TOO_SMALL.
 * Since: 0.1
 */
HTONE_API htone_status htone_tensor_shape(htone_tensor* tensor, int32_t capacity, int64_t* out_shape,
                                          int32_t* out_ndim);

/* Answers the strides in elements.
 *
 * [in] tensor: borrowed.
 * [in] capacity: entries at out_strides; HTONE_MAX_NDIM always suffices.
 * [out] out_strides: [*out_ndim] strides; optional where capacity is 0.
 * [out] out_ndim: the number of dimensions, also where the buffer is too small.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, BUFFER_TOO_SMALL.
 * Since: 0.1
 */
HTONE_API htone_status htone_tensor_strides(htone_tensor* tensor, int32_t capacity, int64_t* out_strides,
                                            int32_t* out_ndim);

/* Answers the device that the tensor lives on.
 *
 * [in] tensor: borrowed.
 * [out] out: the device; owned by the caller.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * Since: 0.1
 */
HTONE_API htone_status htone_tensor_device(htone_tensor* tensor, htone_device** out);

/* Answers where the first element lies. Writing there is not noticed by the checks of backward; use htone_tensor_write,
 * or say so by htone_tensor_mark_written.
 *
 * [in] tensor: borrowed; the address is valid while the tensor lives.
 * [out] out_data: address in the device's memory; NULL for an empty tensor.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT.
 * Since: 0.1
 */
HTONE_API htone_status htone_tensor_data(htone_tensor* tensor, void** out_data);

/* Copies all elements, in row-major order, into the caller's memory; waits for the device.
 *
 * [in] tensor: borrowed.
 * [in] dtype: of the elements at out_data; converted as htone_cast does.
 * [out] out_data: host memory, any alignment.
 * [in] capacity: bytes at out_data; at least the number of elements times the size of dtype.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, BUFFER_TOO_SMALL, OUT_OF_MEMORY.
 * Since: 0.1
 */
HTONE_API htone_status htone_tensor_read(htone_tensor* tensor, htone_dtype dtype, void* out_data, size_t capacity);

/* Replaces all elements, in row-major order, by the caller's.
 *
 * [in] tensor: borrowed; a leaf or outside autograd.
 * [in] dtype: of the elements at `data`; converted as htone_cast does.
 * [in] data: host memory, any alignment.
 * [in] size: bytes at data; exactly the number of elements times the size of dtype.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, STATE (a result that backward needs; read-only), OUT_OF_MEMORY.
 * Since: 0.1
 */
HTONE_API htone_status htone_tensor_write(htone_tensor* tensor, htone_dtype dtype, const void* data, size_t size);

/* Says that the caller wrote the tensor's memory by itself: a backward that saved the tensor answers STATE from now on,
 * and the low-precision copy of a parameter over this memory counts as stale until the next step writes it.
 *
 * [in] tensor: borrowed.
 * Errors: INVALID_HANDLE.
 * Since: 0.1
 */
HTONE_API htone_status htone_tensor_mark_written(htone_tensor* tensor);

/* Answers the value of a tensor with one element; waits for the device.
 *
 * [in] tensor: one element, any dtype; borrowed.
 * [out] out_value: the value; integers beyond 2^53 are rounded.
 * Errors: INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH (not one element).
 * Since: 0.1
 */
HTONE_API htone_status htone_tensor_item(htone_tensor* tensor, double* out_value);

/* Sets every element to one value.
 *
 * [in] tensor: borrowed; a leaf or outside autograd.
 * [in] value: converted as htone_cast does.
 * Errors: INVALID_HANDLE, STATE (a result that backward needs; read-only).
 * Since: 0.1
 */
HTONE_API htone_status htone_tensor_fill(htone_tensor* tensor, double value);

#ifdef __cplusplus
}
#endif

#endif
