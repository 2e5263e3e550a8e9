/** @file
 * Lines and images of another size, and the layers made of them.
 *
 * @code
 * const int64_t line[] = {1, 2, 3};
 * check(htone_reshape(x, 3, line, &y));
 * check(htone_upsample_nearest1d(y, 6, &y)); // [1, 2, 6]
 * check(htone_tensor_numel(y, &count));
 * assert(count == 12);
 * @endcode
 */
#ifndef HALFTONE_UPSAMPLE_H
#define HALFTONE_UPSAMPLE_H

#include "halftone/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Resizes lines by copying elements: element x of the result is element floor(x * w / result_w) of the input.
 *
 * @param[in] input [n, c, w], float or u8; n may be 0; borrowed.
 * @param[in] result_w 1 to 2^31 - 1; may be smaller than w.
 * @param[out] out [n, c, result_w]; dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact; gradients that meet add up in FP32 (f64: double), in the order of the result's elements.
 *   u8 has no gradient.
 * @source torch.nn.functional.interpolate with a size and mode "nearest", which divides in FP32.
 * @since 0.1
 */
HTONE_API htone_status htone_upsample_nearest1d(htone_tensor* input, int64_t result_w, htone_tensor** out);

/** Resizes images by copying elements: as htone_upsample_nearest1d along both height and width.
 *
 * @param[in] input [n, c, h, w], float or u8; n may be 0; borrowed.
 * @param[in] result_h,result_w 1 to 2^31 - 1; may be smaller than h and w.
 * @param[out] out [n, c, result_h, result_w]; dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact; gradients that meet add up in FP32 (f64: double), in the order of the result's elements.
 *   u8 has no gradient.
 * @source torch.nn.functional.interpolate with a size and mode "nearest", which divides in FP32.
 * @since 0.1
 */
HTONE_API htone_status htone_upsample_nearest2d(htone_tensor* input, int64_t result_h, int64_t result_w,
                                                htone_tensor** out);

/** Resizes lines by linear interpolation between neighbouring elements.
 *
 * @param[in] input [n, c, w], float; n may be 0; borrowed.
 * @param[in] result_w 1 to 2^31 - 1; may be smaller than w.
 * @param[in] align_corners 0 puts element x of the result at (x + 1/2) * w / result_w - 1/2 of the input, at least 0.
 *   Another value puts it at x * (w - 1) / (result_w - 1), so that the first and last elements of both are equal, or
 *   at 0 if result_w is 1.
 * @param[out] out [n, c, result_w]; dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact places, products and sums in FP32 (f64: double), one rounding; gradients likewise.
 * @source torch.nn.functional.interpolate with a size and mode "linear".
 * @since 0.1
 */
HTONE_API htone_status htone_upsample_linear1d(htone_tensor* input, int64_t result_w, int32_t align_corners,
                                               htone_tensor** out);

/** Resizes images by linear interpolation along both height and width.
 *
 * @param[in] input [n, c, h, w], float or u8; n may be 0; borrowed.
 * @param[in] result_h,result_w 1 to 2^31 - 1; may be smaller than h and w.
 * @param[in] align_corners as in htone_upsample_linear1d, along both height and width.
 * @param[out] out [n, c, result_h, result_w]; dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact places, products and sums in FP32 (f64: double), one rounding; gradients likewise.
 *   u8: rounded to the nearest number, of two to the larger one, and bounded to [0, 255]; no gradient.
 * @source torch.nn.functional.interpolate with a size and mode "bilinear".
 * @since 0.1
 */
HTONE_API htone_status htone_upsample_bilinear2d(htone_tensor* input, int64_t result_h, int64_t result_w,
                                                 int32_t align_corners, htone_tensor** out);

/** Resizes images by cubic convolution of the four nearest elements along both height and width, with a = -3/4.
 *
 * @param[in] input [n, c, h, w], float or u8; n may be 0; borrowed.
 * @param[in] result_h,result_w 1 to 2^31 - 1; may be smaller than h and w.
 * @param[in] align_corners as in htone_upsample_linear1d, along both height and width, but a place may be below 0;
 *   elements outside of the image are its nearest ones.
 * @param[out] out [n, c, result_h, result_w]; dtype of input; may be outside of the range of input; owned by the
 *   caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision weights in double, products and sums in FP32 (f64: double), one rounding; gradients likewise.
 *   u8: rounded to the nearest number, of two to the larger one, and bounded to [0, 255]; no gradient.
 * @source Keys, IEEE Transactions on Acoustics, Speech and Signal Processing 29 (1981);
 *   torch.nn.functional.interpolate with a size and mode "bicubic".
 * @since 0.1
 */
HTONE_API htone_status htone_upsample_bicubic2d(htone_tensor* input, int64_t result_h, int64_t result_w,
                                                int32_t align_corners, htone_tensor** out);

/** Makes a module that applies htone_upsample_nearest1d with a result of scale_w times the input's width.
 *
 * @param[in] scale_w 1 to 2^31 - 1.
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_upsample_nearest1d(int64_t scale_w, htone_module** out);

/** Makes a module that applies htone_upsample_nearest2d with a result of scale_h times the input's height and scale_w
 * times its width.
 *
 * @param[in] scale_h,scale_w 1 to 2^31 - 1.
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_upsample_nearest2d(int64_t scale_h, int64_t scale_w, htone_module** out);

/** Makes a module that applies htone_upsample_linear1d with a result of scale_w times the input's width.
 *
 * @param[in] scale_w 1 to 2^31 - 1.
 * @param[in] align_corners as in htone_upsample_linear1d.
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_upsample_linear1d(int64_t scale_w, int32_t align_corners,
                                                             htone_module** out);

/** Makes a module that applies htone_upsample_bilinear2d with a result of scale_h times the input's height and scale_w
 * times its width.
 *
 * @param[in] scale_h,scale_w 1 to 2^31 - 1.
 * @param[in] align_corners as in htone_upsample_linear1d, along both height and width.
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_upsample_bilinear2d(int64_t scale_h, int64_t scale_w, int32_t align_corners,
                                                               htone_module** out);

/** Makes a module that applies htone_upsample_bicubic2d with a result of scale_h times the input's height and scale_w
 * times its width.
 *
 * @param[in] scale_h,scale_w 1 to 2^31 - 1.
 * @param[in] align_corners as in htone_upsample_bicubic2d.
 * @param[out] out the module; owned by the caller.
 * @errors INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_upsample_bicubic2d(int64_t scale_h, int64_t scale_w, int32_t align_corners,
                                                              htone_module** out);

#ifdef __cplusplus
}
#endif

#endif
