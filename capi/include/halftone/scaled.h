/** @file
 * Scaled tensors: values of 8 or 4 bits with a scale for each block. A value is its code times the scale of its block,
 * and in the NV layouts times the scale of the tensor. Nothing here waits for the device, and nothing is recorded.
 *
 * htone_scale_layout lists the layouts. A tensor is seen as a matrix: a row is its last dimension, and all other
 * dimensions count rows. The blocks at the ends may be smaller. Codes are E4M3, E5M2 or E2M1, in the NV layouts E2M1
 * alone. With `amax` the largest magnitude of a block, and `largest` that of the codes (448, 57344 or 6), scales are:
 *
 * * TENSOR and ROW: amax / largest. Values are divided by it.
 * * BLOCK: the smallest power of two, at least 2^-126, with amax / scale <= largest; 1 of a block of zeros.
 * * MX: 2^(floor(log2 amax) - floor(log2 largest)), so that values of up to 2 * largest saturate; or, if
 *   scale_rounds_up, the smallest power of two with amax / scale <= largest. From 2^-127, which is also the scale of a
 *   block of zeros, to 2^127.
 * * NV: the tensor has amax / (448 * 6), at least 2^-120 and 1 if all is zero; a block has amax / 6 / tensor_scale
 *   rounded to E4M3, from 2^-6 to 448. Values are multiplied by 1 / tensor_scale / scale. The largest values of a block
 *   may saturate, because its scale is rounded to nearest.
 *
 * A scale is never 0. A block that contains an infinity or NaN has a scale of NaN and reads NaN throughout, in the NV
 * layouts the whole tensor, so that an overflow is not lost. Subnormal blocks are quantized as others are. In
 * the BLOCK layouts a number above 255 * 2^120 may read infinite.
 *
 * @code
 * htone_scaled* scaled;
 * htone_scaled_options options = HTONE_SCALED_OPTIONS_INIT;
 * options.layout = HTONE_SCALE_LAYOUT_MX_1X32;
 * options.format = HTONE_FORMAT_E2M1;
 * check(htone_scaled_create(x, &options, NULL, NULL, &scaled)); // x holds 1 to 6 in rows of 3
 * check(htone_scaled_dequantize(scaled, HTONE_F32, &y));
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(values[2] == 3 && values[4] == 4); // E2M1 has no 5: it is a tie and goes to the even 4
 * check(htone_scaled_codes(scaled, &y)); // u8 [2, 2]: two codes in a byte
 * check(htone_tensor_numel(y, &count));
 * assert(count == 4);
 * @endcode
 */
#ifndef HALFTONE_SCALED_H
#define HALFTONE_SCALED_H

#include "halftone/format.h"
#include "halftone/state_dict.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Codes and scales. It never changes. */
typedef struct htone_scaled htone_scaled;

/** Which elements share a scale, and the format of the scale. */
typedef enum htone_scale_layout {
  HTONE_SCALE_LAYOUT_TENSOR = 1,           /**< all elements; f32 */
  HTONE_SCALE_LAYOUT_ROW = 2,              /**< a row; f32 */
  HTONE_SCALE_LAYOUT_BLOCK_1X128 = 3,      /**< 128 elements of a row; f32, a power of two */
  HTONE_SCALE_LAYOUT_BLOCK_128X128 = 4,    /**< 128 rows by 128 columns; f32, a power of two */
  HTONE_SCALE_LAYOUT_MX_1X32 = 5,          /**< 32 elements of a row; E8M0, a power of two in 8 bits */
  HTONE_SCALE_LAYOUT_NV_1X16 = 6,          /**< 16 elements of a row; E4M3, under one f32 of the tensor */
  HTONE_SCALE_LAYOUT_NV_16X16 = 7,         /**< 16 rows by 16 columns; E4M3, under one f32 of the tensor */
  HTONE_SCALE_LAYOUT_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_scale_layout;

/** Settings of htone_scaled_create. */
typedef struct htone_scaled_options {
  uint32_t struct_size;      /**< sizeof of this structure */
  htone_scale_layout layout; /**< default HTONE_SCALE_LAYOUT_TENSOR */
  htone_format format;       /**< of codes: HTONE_FORMAT_E4M3 (default), HTONE_FORMAT_E5M2 or
                                  HTONE_FORMAT_E2M1, which the NV layouts need */
  int32_t scale_rounds_up;   /**< not 0: scales of MX_1X32 are rounded up; default 0, OCP's rule; others ignore it */
  int32_t stochastic;        /**< not 0: codes are rounded up or down by chance, so that the mean is the value;
                                  default 0: to nearest even */
  uint32_t reserved;         /**< 0 */
  uint64_t seed;             /**< of the random numbers of `stochastic`; default 0 */
  uint64_t sequence;         /**< likewise; each pair of seed and sequence rounds another way; default 0 */
} htone_scaled_options;

/** The defaults, to initialize a htone_scaled_options where it is declared. */
#define HTONE_SCALED_OPTIONS_INIT \
  { sizeof(htone_scaled_options), HTONE_SCALE_LAYOUT_TENSOR, HTONE_FORMAT_E4M3, 0, 0, 0, 0, 0 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_scaled_options_init(htone_scaled_options* options);

/** Quantizes a tensor. The layout TENSOR can use a scale that comes from earlier steps (htone_quantize_scale) and note
 * the largest magnitude for later ones; values beyond the scale's range then saturate.
 *
 * @param[in] x at least one dimension, f32, f16 or bf16, any strides; borrowed.
 * @param[in] options optional; NULL means the defaults.
 * @param[in] scale optional, for the layout TENSOR alone: its scale, one f32 above 0, which is read on the device and
 *   not checked; copied. Under a scale of NaN, as of an earlier overflow, all reads NaN.
 * @param[in] amax optional, for the layout TENSOR alone: one f32, apart from scale; gets the largest magnitude of x,
 *   NaN if an element is NaN. Borrowed.
 * @param[out] out the codes and scales, on the device of x; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also: a format that the layout does not have; scale or amax with another
 *   layout), SHAPE_MISMATCH, DTYPE_MISMATCH (f64 and others), DEVICE, STATE (amax is a result that backward needs, or
 *   is read-only), UNSUPPORTED, OUT_OF_MEMORY.
 * @precision scales as described at the top, each step rounded once in FP32; a value with its scale applied is an FP32
 *   number, which is rounded once to a code and saturates at the largest. Under a given scale, NaN stays in 8-bit codes
 *   and becomes 6 in E2M1, which has no NaN.
 * @source OCP Microscaling Formats (MX) 1.0; NVIDIA, arXiv:2509.25149 (NVFP4); torchao 0.18 for the steps of rounding;
 *   DeepSeek-AI, arXiv:2412.19437 (blocks of 128).
 * @since 0.1
 */
HTONE_API htone_status htone_scaled_create(htone_tensor* x, const htone_scaled_options* options, htone_tensor* scale,
                                           htone_tensor* amax, htone_scaled** out);

/** Adds a reference.
 *
 * @param[in] scaled a scaled tensor.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_API htone_status htone_scaled_retain(htone_scaled* scaled);

/** Releases a reference.
 *
 * @param[in] scaled optional; a scaled tensor.
 * @errors INVALID_HANDLE.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_scaled_release(htone_scaled* scaled);

/** Returns the values.
 *
 * @param[in] scaled borrowed.
 * @param[in] dtype HTONE_F64, HTONE_F32, HTONE_F16 or HTONE_BF16.
 * @param[out] out shape of x, dtype; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY.
 * @precision code times scale in FP32, which is exact but for subnormal numbers, times the scale of the tensor, one
 *   rounding; then rounded to dtype.
 * @since 0.1
 */
HTONE_API htone_status htone_scaled_dequantize(htone_scaled* scaled, htone_dtype dtype, htone_tensor** out);

/** Returns the codes.
 *
 * @param[in] scaled borrowed.
 * @param[out] out f8e4m3 or f8e5m2 of the shape of x; or E2M1 as u8: the last dimension is halved and rounded up, the
 *   even element is in the low half of a byte, and the high half behind an odd number of elements is 0. Over the memory
 *   of the scaled tensor: the caller must not write it. Owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_scaled_codes(htone_scaled* scaled, htone_tensor** out);

/** Returns the scales of the blocks.
 *
 * @param[in] scaled borrowed.
 * @param[out] out [blocks of rows, blocks of columns]: f32, u8 (E8M0 of MX: 2^(byte - 127), 255 is NaN) or f8e4m3 (NV);
 *   [] f32 of the layout TENSOR, [rows, 1] of ROW. Over the memory of the scaled tensor: the caller must not write it.
 *   Owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_scaled_scales(htone_scaled* scaled, htone_tensor** out);

/** Returns the scale of the whole tensor that the NV layouts have beside those of their blocks.
 *
 * @param[in] scaled borrowed.
 * @param[out] out [], f32, over the memory of the scaled tensor: the caller must not write it. Owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (another layout), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_scaled_tensor_scale(htone_scaled* scaled, htone_tensor** out);

/** Returns the layout.
 *
 * @param[in] scaled borrowed.
 * @param[out] out_layout the layout.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_scaled_layout(htone_scaled* scaled, htone_scale_layout* out_layout);

/** Returns the format of the codes.
 *
 * @param[in] scaled borrowed.
 * @param[out] out_format HTONE_FORMAT_E4M3, HTONE_FORMAT_E5M2 or HTONE_FORMAT_E2M1.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_API htone_status htone_scaled_format(htone_scaled* scaled, htone_format* out_format);

/** Returns the shape of the values.
 *
 * @param[in] scaled borrowed.
 * @param[out] out_shape caller's memory; the sizes of x.
 * @param[in] capacity how many sizes fit into out_shape; 8 always suffice.
 * @param[out] out_ndim the number of dimensions, also if the memory is too small.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, BUFFER_TOO_SMALL.
 * @since 0.1
 */
HTONE_API htone_status htone_scaled_shape(htone_scaled* scaled, int64_t* out_shape, int32_t capacity,
                                          int32_t* out_ndim);

/** Adds a scaled tensor to a state dict, from which files in the safetensors format are written: the tensors NAME.codes
 * and NAME.scales, NAME.tensor_scale in the NV layouts, and the text NAME.layout, such as "mx_1x32 e2m1 2x3".
 *
 * @param[in] scaled borrowed; the state dict shares its memory.
 * @param[in] state_dict borrowed.
 * @param[in] name 1 to 4000 bytes of UTF-8 without control characters; copied.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (also: a name that is there already; nothing is added), OUT_OF_MEMORY.
 * @since 0.1
 */
HTONE_API htone_status htone_scaled_save(htone_scaled* scaled, htone_state_dict* state_dict, const char* name);

/** Makes a scaled tensor from what htone_scaled_save added.
 *
 * @param[in] state_dict borrowed.
 * @param[in] name as given to htone_scaled_save.
 * @param[out] out shares the memory of the state dict's tensors; owned by the caller.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (a tensor or the text is missing), FORMAT (the text is none of a layout),
 *   SHAPE_MISMATCH, DTYPE_MISMATCH, OUT_OF_MEMORY; of htone_safetensors_open also IO.
 * @since 0.1
 */
HTONE_API htone_status htone_scaled_load(htone_state_dict* state_dict, const char* name, htone_scaled** out);

#ifdef __cplusplus
}
#endif

#endif
