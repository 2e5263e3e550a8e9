/** @file
 * Operations that move the elements of images. The conventions of ops.h apply.
 *
 * @code
 * const int64_t image[] = {1, 1, 2, 3}, padding[] = {1, 1};
 * check(htone_reshape(x, 4, image, &y));
 * check(htone_pad_reflect(y, 1, padding, &y)); // [1, 1, 2, 5]
 * check(htone_unfold(y, 2, 2, NULL, &y));      // [1, 4, 4]
 * check(htone_tensor_numel(y, &count));
 * assert(count == 16);
 * @endcode
 */
#ifndef HALFTONE_IMAGE_H
#define HALFTONE_IMAGE_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Moves channels into the plane: of the f^2 channels of a group, channel i f + j becomes the elements at rows i and
 * columns j of squares of f by f.
 *
 * @param[in] input [..., c f^2, h, w], any dtype; borrowed.
 * @param[in] upscale_factor f, at least 1.
 * @param[out] out [..., c, h f, w f], dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact.
 * @source Shi et al., arXiv:1609.05158; torch.nn.functional.pixel_shuffle.
 * @since 0.1
 */
HTONE_API htone_status htone_pixel_shuffle(htone_tensor* input, int64_t upscale_factor, htone_tensor** out);

/** Moves squares of the plane into channels: the reverse of htone_pixel_shuffle.
 *
 * @param[in] input [..., c, h f, w f], any dtype; borrowed.
 * @param[in] downscale_factor f, at least 1.
 * @param[out] out [..., c f^2, h, w], dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact.
 * @source torch.nn.functional.pixel_unshuffle.
 * @since 0.1
 */
HTONE_API htone_status htone_pixel_unshuffle(htone_tensor* input, int64_t downscale_factor, htone_tensor** out);

/** Pads with a reflection of the input that does not repeat the elements at its ends: 1 2 3 becomes 3 2 1 2 3 2 1.
 *
 * @param[in] input any shape and dtype; borrowed.
 * @param[in] pair_count dimensions that change, counted from the last one; at most those of input.
 * @param[in] padding [2 * pair_count] as for htone_pad; each below the dimension's size.
 * @param[out] out dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @precision exact; gradients that meet add up in FP32 (f64: double), one dimension after the other.
 * @source torch.nn.functional.pad with mode "reflect".
 * @since 0.1
 */
HTONE_API htone_status htone_pad_reflect(htone_tensor* input, int32_t pair_count, const int64_t* padding,
                                         htone_tensor** out);

/** Pads with the elements at the ends: 1 2 3 becomes 1 1 1 2 3 3 3.
 *
 * @param[in] input any shape and dtype; borrowed.
 * @param[in] pair_count dimensions that change, counted from the last one; at most those of input.
 * @param[in] padding [2 * pair_count] as for htone_pad; 0 or less for a dimension of size 0.
 * @param[out] out dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @precision exact; gradients that meet add up in FP32 (f64: double), one dimension after the other.
 * @source torch.nn.functional.pad with mode "replicate".
 * @since 0.1
 */
HTONE_API htone_status htone_pad_replicate(htone_tensor* input, int32_t pair_count, const int64_t* padding,
                                           htone_tensor** out);

/** Pads with the elements of the other end: 1 2 3 becomes 2 3 1 2 3 1 2.
 *
 * @param[in] input any shape and dtype; borrowed.
 * @param[in] pair_count dimensions that change, counted from the last one; at most those of input.
 * @param[in] padding [2 * pair_count] as for htone_pad; each at most the dimension's size without the elements that are
 *   removed.
 * @param[out] out dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @precision exact; gradients that meet add up in FP32 (f64: double), one dimension after the other.
 * @source torch.nn.functional.pad with mode "circular".
 * @since 0.1
 */
HTONE_API htone_status htone_pad_circular(htone_tensor* input, int32_t pair_count, const int64_t* padding,
                                          htone_tensor** out);

/** How windows move over images. */
typedef struct htone_unfold_options {
  uint32_t struct_size; /**< sizeof of this structure */
  uint32_t reserved;    /**< 0 */
  int64_t stride_h;     /**< at least 1; default 1 */
  int64_t stride_w;     /**< as stride_h */
  int64_t padding_h;    /**< zeros on each side, at least 0; default 0 */
  int64_t padding_w;    /**< as padding_h */
  int64_t dilation_h;   /**< distance of a window's elements, at least 1; default 1 */
  int64_t dilation_w;   /**< as dilation_h */
} htone_unfold_options;

/** The defaults, to initialize a htone_unfold_options where it is declared. */
#define HTONE_UNFOLD_OPTIONS_INIT \
  { sizeof(htone_unfold_options), 0, 1, 1, 0, 0, 1, 1 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_unfold_options_init(htone_unfold_options* options);

/** Copies each window of an image to a column, channel by channel and row by row.
 *
 * @param[in] input [n, c, h, w], or [c, h, w] for one image, any dtype; n may be 0; borrowed.
 * @param[in] kernel_h,kernel_w the window's sizes, at least 1.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out [n, c kernel_h kernel_w, positions], or without n; the positions of a window are counted row by row,
 *   as many as htone_conv2d has; dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, SHAPE_MISMATCH, OUT_OF_MEMORY.
 * @precision exact; the gradient is htone_fold.
 * @source torch.nn.functional.unfold.
 * @since 0.1
 */
HTONE_API htone_status htone_unfold(htone_tensor* input, int64_t kernel_h, int64_t kernel_w,
                                    const htone_unfold_options* options, htone_tensor** out);

/** Adds the columns of htone_unfold up at their places in an image. Elements that no window covers are 0.
 *
 * @param[in] input [n, c kernel_h kernel_w, positions], or without n for one image, float; n may be 0; borrowed.
 * @param[in] height,width of the image, at least 1.
 * @param[in] kernel_h,kernel_w the window's sizes, at least 1.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out [n, c, height, width], or without n; dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, SHAPE_MISMATCH, DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision sums in FP32 (f64: double) in the order of the window's elements, one rounding.
 * @source torch.nn.functional.fold.
 * @since 0.1
 */
HTONE_API htone_status htone_fold(htone_tensor* input, int64_t height, int64_t width, int64_t kernel_h,
                                  int64_t kernel_w, const htone_unfold_options* options, htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
