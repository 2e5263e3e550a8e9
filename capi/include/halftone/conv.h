/** @file
 * Convolutions over one and two dimensions, their transposes, and their layers.
 *
 * Images are [n, c, h, w], lines [n, c, l]. One image or line may be given without n, and the result is then without n,
 * too. As usual in neural networks, kernels are not mirrored.
 *
 * @code
 * const int64_t image[] = {1, 1, 8, 8};
 * htone_module* conv;
 * check(htone_randn(device, HTONE_F32, 4, image, &y));
 * check(htone_module_create_conv2d(device, 1, 4, 3, 3, NULL, &conv));
 * check(htone_module_forward(conv, y, NULL, &y)); // [1, 4, 6, 6]
 * check(htone_tensor_numel(y, &count));
 * assert(count == 4 * 6 * 6);
 * @endcode
 */
#ifndef HALFTONE_CONV_H
#define HALFTONE_CONV_H

#include "halftone/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How kernels move over their input. Operations over one dimension use the fields of w; those of h keep their
 * defaults.
 */
typedef struct htone_conv_options {
  uint32_t struct_size; /**< sizeof of this structure */
  int32_t bias;         /**< only of modules; not 0: with a bias; default 1 */
  htone_dtype
      dtype; /**< only of modules: dtype of the weights, HTONE_F32 (default), HTONE_F64, HTONE_F16 or HTONE_BF16 */
  uint32_t reserved;        /**< 0 */
  int64_t stride_h;         /**< at least 1; default 1 */
  int64_t stride_w;         /**< as stride_h */
  int64_t padding_h;        /**< zeros on each side, at least 0; default 0 */
  int64_t padding_w;        /**< as padding_h */
  int64_t dilation_h;       /**< distance of a kernel's elements, at least 1; default 1 */
  int64_t dilation_w;       /**< as dilation_h */
  int64_t output_padding_h; /**< only of transposes: added to the result's size; below stride or dilation; default 0 */
  int64_t output_padding_w; /**< as output_padding_h */
  int64_t groups;           /**< number of groups of channels, which are independent of each other; default 1 */
} htone_conv_options;

/** The defaults, to initialize a htone_conv_options where it is declared. */
#define HTONE_CONV_OPTIONS_INIT \
  { sizeof(htone_conv_options), 1, HTONE_F32, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_conv_options_init(htone_conv_options* options);

/** Convolves lines: out[n, o, x] = bias[o] + the sum over channels c of o's group and elements j of the kernel of
 * weight[o, c, j] * input[n, c, x * stride + j * dilation - padding].
 *
 * @param[in] input [n, c, l], float; n may be 0; borrowed.
 * @param[in] weight [o, c / groups, k], dtype of input; borrowed.
 * @param[in] bias optional; [o], dtype of input; borrowed.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out [n, o, (l + 2 padding - dilation (k - 1) - 1) / stride + 1], rounded down; dtype of input; owned by
 *   the caller.
 * @autocast low precision.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision as htone_matmul, with c k / groups products; the bias is added before the one rounding.
 * @since 0.1
 */
HTONE_API htone_status htone_conv1d(htone_tensor* input, htone_tensor* weight, htone_tensor* bias,
                                    const htone_conv_options* options, htone_tensor** out);

/** Convolves images: as htone_conv1d along both height and width.
 *
 * @param[in] input [n, c, h, w], float; n may be 0; borrowed.
 * @param[in] weight [o, c / groups, kh, kw], dtype of input; borrowed.
 * @param[in] bias optional; [o], dtype of input; borrowed.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out [n, o, oh, ow], sizes as those of htone_conv1d; dtype of input; owned by the caller.
 * @autocast low precision.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision as htone_matmul, with c kh kw / groups products; the bias is added before the one rounding.
 * @since 0.1
 */
HTONE_API htone_status htone_conv2d(htone_tensor* input, htone_tensor* weight, htone_tensor* bias,
                                    const htone_conv_options* options, htone_tensor** out);

/** Transposes htone_conv1d: computes the gradient of the input of a htone_conv1d with the same options.
 *
 * @param[in] input [n, c, l], float; n may be 0; borrowed.
 * @param[in] weight [c, o / groups, k], dtype of input; borrowed.
 * @param[in] bias optional; [o], dtype of input; borrowed.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out [n, o, (l - 1) stride - 2 padding + dilation (k - 1) + output_padding + 1]; dtype of input; owned by
 *   the caller.
 * @autocast low precision.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision products and sums in FP32 (f64: double), one rounding.
 * @source Zeiler, Krishnan, Taylor and Fergus, "Deconvolutional Networks", 2010.
 * @since 0.1
 */
HTONE_API htone_status htone_conv_transpose1d(htone_tensor* input, htone_tensor* weight, htone_tensor* bias,
                                              const htone_conv_options* options, htone_tensor** out);

/** Transposes htone_conv2d: as htone_conv_transpose1d along both height and width.
 *
 * @param[in] input [n, c, h, w], float; n may be 0; borrowed.
 * @param[in] weight [c, o / groups, kh, kw], dtype of input; borrowed.
 * @param[in] bias optional; [o], dtype of input; borrowed.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out [n, o, oh, ow], sizes as those of htone_conv_transpose1d; dtype of input; owned by the caller.
 * @autocast low precision.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision products and sums in FP32 (f64: double), one rounding.
 * @source Zeiler, Krishnan, Taylor and Fergus, "Deconvolutional Networks", 2010.
 * @since 0.1
 */
HTONE_API htone_status htone_conv_transpose2d(htone_tensor* input, htone_tensor* weight, htone_tensor* bias,
                                              const htone_conv_options* options, htone_tensor** out);

/** Makes a layer that applies htone_conv1d.
 *
 * @param[in] device of the parameters; borrowed.
 * @param[in] in_channels,out_channels at least 1, multiples of options.groups.
 * @param[in] kernel_w the kernel's length, at least 1.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out with parameters "weight" [out_channels, in_channels / groups, kernel_w] and "bias" [out_channels],
 *   both uniform in +-1/sqrt(in_channels / groups * kernel_w); owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @source the defaults of torch.nn.Conv1d (Kaiming uniform with a = sqrt(5)).
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_conv1d(htone_device* device, int64_t in_channels, int64_t out_channels,
                                                  int64_t kernel_w, const htone_conv_options* options,
                                                  htone_module** out);

/** Makes a layer that applies htone_conv2d.
 *
 * @param[in] device of the parameters; borrowed.
 * @param[in] in_channels,out_channels at least 1, multiples of options.groups.
 * @param[in] kernel_h,kernel_w the kernel's sizes, at least 1.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out with parameters "weight" [out_channels, in_channels / groups, kernel_h, kernel_w] and "bias"
 *   [out_channels], both uniform in +-1/sqrt(in_channels / groups * kernel_h * kernel_w); owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @source the defaults of torch.nn.Conv2d (Kaiming uniform with a = sqrt(5)).
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_conv2d(htone_device* device, int64_t in_channels, int64_t out_channels,
                                                  int64_t kernel_h, int64_t kernel_w, const htone_conv_options* options,
                                                  htone_module** out);

/** Makes a layer that applies htone_conv_transpose1d.
 *
 * @param[in] device of the parameters; borrowed.
 * @param[in] in_channels,out_channels at least 1, multiples of options.groups.
 * @param[in] kernel_w the kernel's length, at least 1.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out with parameters "weight" [in_channels, out_channels / groups, kernel_w] and "bias" [out_channels],
 *   both uniform in +-1/sqrt(out_channels / groups * kernel_w); owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @source the defaults of torch.nn.ConvTranspose1d (Kaiming uniform with a = sqrt(5)).
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_conv_transpose1d(htone_device* device, int64_t in_channels,
                                                            int64_t out_channels, int64_t kernel_w,
                                                            const htone_conv_options* options, htone_module** out);

/** Makes a layer that applies htone_conv_transpose2d.
 *
 * @param[in] device of the parameters; borrowed.
 * @param[in] in_channels,out_channels at least 1, multiples of options.groups.
 * @param[in] kernel_h,kernel_w the kernel's sizes, at least 1.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out with parameters "weight" [in_channels, out_channels / groups, kernel_h, kernel_w] and "bias"
 *   [out_channels], both uniform in +-1/sqrt(out_channels / groups * kernel_h * kernel_w); owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @source the defaults of torch.nn.ConvTranspose2d (Kaiming uniform with a = sqrt(5)).
 * @since 0.1
 */
HTONE_API htone_status htone_module_create_conv_transpose2d(htone_device* device, int64_t in_channels,
                                                            int64_t out_channels, int64_t kernel_h, int64_t kernel_w,
                                                            const htone_conv_options* options, htone_module** out);

#ifdef __cplusplus
}
#endif

#endif
