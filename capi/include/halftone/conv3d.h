/** @file
 * Convolution over three dimensions, its transpose, and their layers. Volumes are [n, c, d, h, w]; kernels are not
 * mirrored. One volume may be given without n, and the result is then without n, too.
 *
 * @code
 * const int64_t volume[] = {1, 1, 4, 8, 8};
 * htone_module* conv;
 * check(htone_randn(device, HTONE_F32, 5, volume, &y));
 * check(htone_module_create_conv3d(device, 1, 2, 3, 3, 3, NULL, &conv));
 * check(htone_module_forward(conv, y, NULL, &y)); // [1, 2, 2, 6, 6]
 * check(htone_tensor_numel(y, &count));
 * assert(count == 2 * 2 * 6 * 6);
 * @endcode
 */
#ifndef HALFTONE_CONV3D_H
#define HALFTONE_CONV3D_H

#include "halftone/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How kernels move over volumes. */
typedef struct htone_conv3d_options {
  uint32_t struct_size; /**< sizeof of this structure */
  int32_t bias;         /**< of modules alone; not 0: with a bias; default 1 */
  htone_dtype dtype;  /**< of modules alone: of the weights, HTONE_F32 (default), HTONE_F64, HTONE_F16 or HTONE_BF16 */
  uint32_t reserved;  /**< 0 */
  int64_t stride_d;   /**< at least 1; default 1 */
  int64_t stride_h;   /**< as stride_d */
  int64_t stride_w;   /**< as stride_d */
  int64_t padding_d;  /**< zeros on each side, at least 0; default 0 */
  int64_t padding_h;  /**< as padding_d */
  int64_t padding_w;  /**< as padding_d */
  int64_t dilation_d; /**< distance of a kernel's elements, at least 1; default 1 */
  int64_t dilation_h; /**< as dilation_d */
  int64_t dilation_w; /**< as dilation_d */
  int64_t output_padding_d; /**< only of transposes: added to the result's size; below stride or dilation; default 0 */
  int64_t output_padding_h; /**< as output_padding_d */
  int64_t output_padding_w; /**< as output_padding_d */
  int64_t groups;           /**< channels fall into so many groups that do not see each other; default 1 */
} htone_conv3d_options;

/** The defaults, to initialize a htone_conv3d_options where it is declared. */
#define HTONE_CONV3D_OPTIONS_INIT \
  { sizeof(htone_conv3d_options), 1, HTONE_F32, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_conv3d_options_init(htone_conv3d_options* options);

/** Convolves volumes: as htone_conv1d along depth, height and width. A copy of the input, as many times as the kernel
 * has elements along the depth, lives during the call and during its backward.
 *
 * @param[in] input [n, c, d, h, w], float; n may be 0; borrowed.
 * @param[in] weight [o, c / groups, kd, kh, kw], dtype of input; borrowed.
 * @param[in] bias optional; [o], dtype of input; borrowed.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out [n, o, od, oh, ow], sizes as those of htone_conv1d; dtype of input; owned by the caller.
 * @autocast low precision.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision as htone_matmul, with c kd kh kw / groups products; the bias is added before the one rounding.
 * @since 0.1
 */
HTONE_API htone_status htone_conv3d(htone_tensor* input, htone_tensor* weight, htone_tensor* bias,
                                    const htone_conv3d_options* options, htone_tensor** out);

/** Transposes htone_conv3d: as htone_conv_transpose1d along depth, height and width. FP32 (f64: double) sums, as many
 * times the result as the kernel has elements along the depth, live during the call.
 *
 * @param[in] input [n, c, d, h, w], float; n may be 0; borrowed.
 * @param[in] weight [c, o / groups, kd, kh, kw], dtype of input; borrowed.
 * @param[in] bias optional; [o], dtype of input; borrowed.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out [n, o, od, oh, ow], sizes as those of htone_conv_transpose1d; dtype of input; owned by the caller.
 * @autocast low precision.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision products and sums in FP32 (f64: double), one rounding.
 * @source Zeiler, Krishnan, Taylor and Fergus, "Deconvolutional Networks", 2010.
 * @since 0.1
 */
HTONE_API htone_status htone_conv_transpose3d(htone_tensor* input, htone_tensor* weight, htone_tensor* bias,
                                              const htone_conv3d_options* options, htone_tensor** out);

/** Makes a layer that applies htone_conv3d.
 *
 * @param[in] device of the parameters; borrowed.
 * @param[in] in_channels,out_channels at least 1, multiples of options.groups.
 * @param[in] kernel_d,kernel_h,kernel_w the kernel's sizes, at least 1.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out with parameters "weight" [out_channels, in_channels / groups, kernel_d, kernel_h, kernel_w] and
 *   "bias" [out_channels], both uniform in +-1/sqrt(in_channels / groups * kernel_d * kernel_h * kernel_w); owned by
 *   the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @source the defaults of torch.nn.Conv3d (Kaiming uniform with a = sqrt(5)).
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_conv3d(htone_device* device, int64_t in_channels, int64_t out_channels,
                                                  int64_t kernel_d, int64_t kernel_h, int64_t kernel_w,
                                                  const htone_conv3d_options* options, htone_module** out);

/** Makes a layer that applies htone_conv_transpose3d.
 *
 * @param[in] device of the parameters; borrowed.
 * @param[in] in_channels,out_channels at least 1, multiples of options.groups.
 * @param[in] kernel_d,kernel_h,kernel_w the kernel's sizes, at least 1.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out with parameters "weight" [in_channels, out_channels / groups, kernel_d, kernel_h, kernel_w] and
 *   "bias" [out_channels], both uniform in +-1/sqrt(out_channels / groups * kernel_d * kernel_h * kernel_w); owned by
 *   the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @source the defaults of torch.nn.ConvTranspose3d (Kaiming uniform with a = sqrt(5)).
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_conv_transpose3d(htone_device* device, int64_t in_channels,
                                                            int64_t out_channels, int64_t kernel_d, int64_t kernel_h,
                                                            int64_t kernel_w, const htone_conv3d_options* options,
                                                            htone_module** out);

#ifdef __cplusplus
}
#endif

#endif
