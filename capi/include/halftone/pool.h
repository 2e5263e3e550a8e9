/** @file
 * Pooling: maxima and averages over windows of images [n, c, h, w] and lines [n, c, l], and their layers. One image or
 * line may be given without n, and the result is then without n, too.
 *
 * @code
 * const int64_t image[] = {1, 1, 2, 3};
 * check(htone_reshape(x, 4, image, &y));
 * check(htone_max_pool2d(y, 2, 3, NULL, &y)); // one window
 * check(htone_tensor_item(y, &number));
 * assert(number == 6);
 * @endcode
 */
#ifndef HALFTONE_POOL_H
#define HALFTONE_POOL_H

#include "halftone/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How windows move over their input. Operations over one dimension use the fields of w; those of h keep their
 * defaults.
 */
typedef struct htone_pool_options {
  uint32_t struct_size;      /**< sizeof of this structure */
  int32_t count_include_pad; /**< only of averages: not 0 counts the padding in a window as zeros; default 1 */
  int64_t stride_h;          /**< at least 1; default 0: the size of the window */
  int64_t stride_w;          /**< as stride_h */
  int64_t padding_h;         /**< on each side, at most half of the window; default 0 */
  int64_t padding_w;         /**< as padding_h */
  int64_t dilation_h;        /**< only of maxima: distance of a window's elements, at least 1; default 1 */
  int64_t dilation_w;        /**< as dilation_h */
  int32_t ceil_mode; /**< not 0: a last window that the end of the padded input cuts counts, if it begins in the input
                        or in the padding before it; default 0 */
  uint32_t reserved; /**< 0 */
} htone_pool_options;

/** The defaults, to initialize a htone_pool_options where it is declared. */
#define HTONE_POOL_OPTIONS_INIT \
  { sizeof(htone_pool_options), 1, 0, 0, 0, 0, 1, 1, 0, 0 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_pool_options_init(htone_pool_options* options);

/** Returns the largest element of each window of a line. A NaN is larger than all; the gradient goes to the first of
 * equal maxima.
 *
 * @param[in] input [n, c, l], float; n may be 0; borrowed.
 * @param[in] kernel_w elements of a window, at least 1.
 * @param[in] options optional; NULL means the defaults. Padding is never the maximum.
 * @param[out] out [n, c, (l + 2 padding - dilation (kernel_w - 1) - 1) / stride + 1], rounded down (up if ceil_mode);
 *   dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, SHAPE_MISMATCH, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact; gradients of overlapping windows are summed in FP32 (f64: double).
 * @since 0.1
 */
HTONE_API htone_status htone_max_pool1d(htone_tensor* input, int64_t kernel_w, const htone_pool_options* options,
                                        htone_tensor** out);

/** Returns the largest element of each window of an image: as htone_max_pool1d along both height and width.
 *
 * @param[in] input [n, c, h, w], float or u8; n may be 0; borrowed.
 * @param[in] kernel_h,kernel_w the window's sizes, at least 1.
 * @param[in] options optional; NULL means the defaults. Padding is never the maximum.
 * @param[out] out [n, c, oh, ow], sizes as those of htone_max_pool1d; dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, SHAPE_MISMATCH, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact; u8 has no gradient; gradients of overlapping windows are summed in FP32 (f64: double).
 * @since 0.1
 */
HTONE_API htone_status htone_max_pool2d(htone_tensor* input, int64_t kernel_h, int64_t kernel_w,
                                        const htone_pool_options* options, htone_tensor** out);

/** Averages each window of a line.
 *
 * @param[in] input [n, c, l], float; n may be 0; borrowed.
 * @param[in] kernel_w elements of a window, at least 1.
 * @param[in] options optional; NULL means the defaults. Dilation is 1.
 * @param[out] out [n, c, (l + 2 padding - kernel_w) / stride + 1], rounded down (up if ceil_mode); dtype of input;
 *   owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, SHAPE_MISMATCH, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision sums in FP32 (f64: double), one rounding.
 * @since 0.1
 */
HTONE_API htone_status htone_avg_pool1d(htone_tensor* input, int64_t kernel_w, const htone_pool_options* options,
                                        htone_tensor** out);

/** Averages each window of an image: as htone_avg_pool1d along both height and width.
 *
 * @param[in] input [n, c, h, w], float; n may be 0; borrowed.
 * @param[in] kernel_h,kernel_w the window's sizes, at least 1.
 * @param[in] options optional; NULL means the defaults. Dilation is 1.
 * @param[out] out [n, c, oh, ow], sizes as those of htone_avg_pool1d; dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, SHAPE_MISMATCH, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision sums in FP32 (f64: double), one rounding.
 * @since 0.1
 */
HTONE_API htone_status htone_avg_pool2d(htone_tensor* input, int64_t kernel_h, int64_t kernel_w,
                                        const htone_pool_options* options, htone_tensor** out);

/** Averages a line over a given number of windows: window p of result_w begins at p l / result_w rounded down and ends
 * before (p + 1) l / result_w rounded up.
 *
 * @param[in] input [n, c, l], float; n may be 0; borrowed.
 * @param[in] result_w 1 to 2^31 - 1.
 * @param[out] out [n, c, result_w]; dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision sums in FP32 (f64: double), one rounding.
 * @since 0.1
 */
HTONE_API htone_status htone_adaptive_avg_pool1d(htone_tensor* input, int64_t result_w, htone_tensor** out);

/** Averages an image over a given number of windows: as htone_adaptive_avg_pool1d along both height and width.
 *
 * @param[in] input [n, c, h, w], float; n may be 0; borrowed.
 * @param[in] result_h,result_w 1 to 2^31 - 1.
 * @param[out] out [n, c, result_h, result_w]; dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision sums in FP32 (f64: double), one rounding.
 * @since 0.1
 */
HTONE_API htone_status htone_adaptive_avg_pool2d(htone_tensor* input, int64_t result_h, int64_t result_w,
                                                 htone_tensor** out);

/** Returns the largest element of each of as many windows of a line as asked for, those of htone_adaptive_avg_pool1d.
 * NaN and equal maxima as in htone_max_pool1d.
 *
 * @param[in] input [n, c, l], float; n may be 0; borrowed.
 * @param[in] result_w 1 to 2^31 - 1.
 * @param[out] out [n, c, result_w]; dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, SHAPE_MISMATCH, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact; gradients of overlapping windows are summed in FP32 (f64: double).
 * @since 0.1
 */
HTONE_API htone_status htone_adaptive_max_pool1d(htone_tensor* input, int64_t result_w, htone_tensor** out);

/** Returns the largest element of each of as many windows of an image as asked for: as htone_adaptive_max_pool1d along
 * both height and width.
 *
 * @param[in] input [n, c, h, w], float; n may be 0; borrowed.
 * @param[in] result_h,result_w 1 to 2^31 - 1.
 * @param[out] out [n, c, result_h, result_w]; dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, SHAPE_MISMATCH, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact; gradients of overlapping windows are summed in FP32 (f64: double).
 * @since 0.1
 */
HTONE_API htone_status htone_adaptive_max_pool2d(htone_tensor* input, int64_t result_h, int64_t result_w,
                                                 htone_tensor** out);

/** Makes a module that applies htone_max_pool1d.
 *
 * @param[in] kernel_w elements of a window, at least 1.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_max_pool1d(int64_t kernel_w, const htone_pool_options* options,
                                                      htone_module** out);

/** Makes a module that applies htone_max_pool2d.
 *
 * @param[in] kernel_h,kernel_w the window's sizes, at least 1.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_max_pool2d(int64_t kernel_h, int64_t kernel_w,
                                                      const htone_pool_options* options, htone_module** out);

/** Makes a module that applies htone_avg_pool1d.
 *
 * @param[in] kernel_w elements of a window, at least 1.
 * @param[in] options optional; NULL means the defaults. Dilation is 1.
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_avg_pool1d(int64_t kernel_w, const htone_pool_options* options,
                                                      htone_module** out);

/** Makes a module that applies htone_avg_pool2d.
 *
 * @param[in] kernel_h,kernel_w the window's sizes, at least 1.
 * @param[in] options optional; NULL means the defaults. Dilation is 1.
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_avg_pool2d(int64_t kernel_h, int64_t kernel_w,
                                                      const htone_pool_options* options, htone_module** out);

/** Makes a module that applies htone_adaptive_avg_pool1d.
 *
 * @param[in] result_w 1 to 2^31 - 1.
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_adaptive_avg_pool1d(int64_t result_w, htone_module** out);

/** Makes a module that applies htone_adaptive_avg_pool2d.
 *
 * @param[in] result_h,result_w 1 to 2^31 - 1.
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_adaptive_avg_pool2d(int64_t result_h, int64_t result_w, htone_module** out);

/** Makes a module that applies htone_adaptive_max_pool1d.
 *
 * @param[in] result_w 1 to 2^31 - 1.
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_adaptive_max_pool1d(int64_t result_w, htone_module** out);

/** Makes a module that applies htone_adaptive_max_pool2d.
 *
 * @param[in] result_h,result_w 1 to 2^31 - 1.
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_adaptive_max_pool2d(int64_t result_h, int64_t result_w, htone_module** out);

#ifdef __cplusplus
}
#endif

#endif
