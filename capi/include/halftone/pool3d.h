/** @file
 * Pooling over three dimensions: maxima and averages over windows of volumes [n, c, d, h, w], and their layers. One
 * volume may be given without n, and the result is then without n, too.
 *
 * @code
 * const int64_t volume[] = {1, 1, 1, 2, 3};
 * check(htone_reshape(x, 5, volume, &y));
 * check(htone_max_pool3d(y, 1, 2, 3, NULL, &y)); // one window
 * check(htone_tensor_item(y, &number));
 * assert(number == 6);
 * @endcode
 */
#ifndef HALFTONE_POOL3D_H
#define HALFTONE_POOL3D_H

#include "halftone/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How windows move over volumes. */
typedef struct htone_pool3d_options {
  uint32_t struct_size;      /**< sizeof of this structure */
  int32_t count_include_pad; /**< only of averages: not 0 counts the padding in a window as zeros; default 1 */
  int64_t stride_d;          /**< at least 1; default 0: the size of the window */
  int64_t stride_h;          /**< as stride_d */
  int64_t stride_w;          /**< as stride_d */
  int64_t padding_d;         /**< on each side, at most half of the window; default 0 */
  int64_t padding_h;         /**< as padding_d */
  int64_t padding_w;         /**< as padding_d */
  int64_t dilation_d;        /**< only of maxima: distance of a window's elements, at least 1; default 1 */
  int64_t dilation_h;        /**< as dilation_d */
  int64_t dilation_w;        /**< as dilation_d */
  int32_t ceil_mode; /**< not 0: a last window that the end of the padded input cuts counts, if it begins in the input
                        or in the padding before it; default 0 */
  uint32_t reserved; /**< 0 */
} htone_pool3d_options;

/** The defaults, to initialize a htone_pool3d_options where it is declared. */
#define HTONE_POOL3D_OPTIONS_INIT \
  { sizeof(htone_pool3d_options), 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_pool3d_options_init(htone_pool3d_options* options);

/** Returns the largest element of each window of a volume: as htone_max_pool1d along depth, height and width.
 *
 * @param[in] input [n, c, d, h, w], float or u8; n may be 0; borrowed.
 * @param[in] kernel_d,kernel_h,kernel_w the window's sizes, at least 1.
 * @param[in] options optional; NULL means the defaults. Padding is never the maximum.
 * @param[out] out [n, c, od, oh, ow], sizes as those of htone_max_pool1d; dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, SHAPE_MISMATCH, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact; gradients of overlapping windows are summed in FP32 (f64: double), rounded after the depth and at
 *   the end.
 * @since 0.1
 */
HTONE_API htone_status htone_max_pool3d(htone_tensor* input, int64_t kernel_d, int64_t kernel_h, int64_t kernel_w,
                                        const htone_pool3d_options* options, htone_tensor** out);

/** Averages each window of a volume: as htone_avg_pool1d along depth, height and width.
 *
 * @param[in] input [n, c, d, h, w], float; n may be 0; borrowed.
 * @param[in] kernel_d,kernel_h,kernel_w the window's sizes, at least 1.
 * @param[in] options optional; NULL means the defaults. Dilation is 1.
 * @param[out] out [n, c, od, oh, ow], sizes as those of htone_avg_pool1d; dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, SHAPE_MISMATCH, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision averages of images, then of depths, in FP32 (f64: double); one rounding to 16 bits.
 * @since 0.1
 */
HTONE_API htone_status htone_avg_pool3d(htone_tensor* input, int64_t kernel_d, int64_t kernel_h, int64_t kernel_w,
                                        const htone_pool3d_options* options, htone_tensor** out);

/** Makes a module that applies htone_max_pool3d.
 *
 * @param[in] kernel_d,kernel_h,kernel_w the window's sizes, at least 1.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_max_pool3d(int64_t kernel_d, int64_t kernel_h, int64_t kernel_w,
                                                      const htone_pool3d_options* options, htone_module** out);

/** Makes a module that applies htone_avg_pool3d.
 *
 * @param[in] kernel_d,kernel_h,kernel_w the window's sizes, at least 1.
 * @param[in] options optional; NULL means the defaults. Dilation is 1.
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_avg_pool3d(int64_t kernel_d, int64_t kernel_h, int64_t kernel_w,
                                                      const htone_pool3d_options* options, htone_module** out);

#ifdef __cplusplus
}
#endif

#endif
