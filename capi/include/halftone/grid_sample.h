/** @file
 * Images and volumes at the places of a grid. The conventions of ops.h apply.
 *
 * @code
 * const int64_t image[] = {1, 1, 2, 3}, places[] = {1, 1, 2, 2};
 * const float between_and_last[] = {-0.5f, -1, 1, 1}; // a column and a row for each place
 * htone_tensor* grid;
 * check(htone_reshape(x, 4, image, &y));
 * check(htone_tensor_create_copy(device, HTONE_F32, 4, places, between_and_last, &grid));
 * check(htone_grid_sample(y, grid, HTONE_GRID_MODE_BILINEAR, HTONE_GRID_PADDING_ZEROS, 1, &y));
 * check(htone_tensor_read(y, HTONE_F32, values, 2 * sizeof(float)));
 * assert(values[0] == 1.5f && values[1] == 6);
 * @endcode
 */
#ifndef HALFTONE_GRID_SAMPLE_H
#define HALFTONE_GRID_SAMPLE_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The elements that a place reads. */
typedef enum htone_grid_mode {
  HTONE_GRID_MODE_BILINEAR = 0,         /**< the two neighbours along each dimension, weighed by their distance */
  HTONE_GRID_MODE_NEAREST = 1,          /**< the nearest element; of two, the one with the even index */
  HTONE_GRID_MODE_BICUBIC = 2,          /**< four along each dimension, as in htone_upsample_bicubic2d */
  HTONE_GRID_MODE_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_grid_mode;

/** The elements outside of the input. */
typedef enum htone_grid_padding {
  HTONE_GRID_PADDING_ZEROS = 0,            /**< 0 */
  HTONE_GRID_PADDING_BORDER = 1,           /**< the nearest element inside */
  HTONE_GRID_PADDING_REFLECTION = 2,       /**< mirrored where coordinates are -1 and 1, as often as necessary */
  HTONE_GRID_PADDING_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_grid_padding;

/** Reads images or volumes at the places of a grid.
 *
 * @param[in] input [n, c, h, w] or [n, c, d, h, w], float; n and c may be 0; borrowed.
 * @param[in] grid [n, result_h, result_w, 2] or [n, result_d, result_h, result_w, 3], float: of each place the
 *   coordinates along w, h and d, of which -1 and 1 are the ends of the input; borrowed.
 * @param[in] mode,padding_mode see htone_grid_mode and htone_grid_padding.
 * @param[in] align_corners 0: coordinates -1 and 1 are the outer edges of the first and last elements. Another value:
 *   their centres.
 * @param[out] out [n, c, result_h, result_w] or [n, c, result_d, result_h, result_w]; dtype of input and grid, promoted
 *   if they differ; owned by the caller.
 * @autocast widest.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision places and weights in double, products and sums in FP32 (f64: double), one rounding; gradients likewise.
 *   Gradients of input that meet add up in the order of the places. The gradient of grid is 0 for NEAREST. A coordinate
 *   of infinity or NaN reads nothing with ZEROS; otherwise a NaN counts as -1, but with BICUBIC the result is NaN.
 * @source Jaderberg et al., arXiv:1506.02025; torch.nn.functional.grid_sample.
 * @since 0.1
 */
HTONE_API htone_status htone_grid_sample(htone_tensor* input, htone_tensor* grid, htone_grid_mode mode,
                                         htone_grid_padding padding_mode, int32_t align_corners, htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
