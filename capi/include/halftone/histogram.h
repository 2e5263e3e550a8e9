/** @file
 * How many elements of a tensor have each magnitude. From such a histogram follows what other formats and scales would
 * lose (what_if.h), without the tensor.
 *
 * @code
 * htone_histogram histogram = HTONE_HISTOGRAM_INIT;
 * int64_t many = 1000;
 * check(htone_tensor_create_full(device, HTONE_F16, 1, &many, 3, &x));
 * check(htone_histogram_of(x, &histogram));
 * assert(histogram.exponents[127 + 1] == 1000); // in [2, 4)
 * assert(histogram.largest == 3 && histogram.least == 3 && histogram.zeros == 0);
 * @endcode
 */
#ifndef HALFTONE_HISTOGRAM_H
#define HALFTONE_HISTOGRAM_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The magnitudes of the elements of a tensor. Elements count as f32, which holds every smaller float exactly; those of
 * f64 are rounded to nearest first. Each element counts once: in zeros, infinities, nans or exponents. */
typedef struct htone_histogram {
  uint32_t struct_size;   /**< set by the caller to sizeof(htone_histogram) */
  htone_dtype dtype;      /**< of the elements */
  int64_t zeros;          /**< elements that are 0 */
  int64_t infinities;     /**< elements that are infinite */
  int64_t nans;           /**< elements that are NaN */
  double largest;         /**< the largest finite magnitude; 0 if there is none */
  double least;           /**< the smallest finite magnitude above 0; 0 if there is none */
  int64_t exponents[255]; /**< entry e counts magnitudes in [2^(e-127), 2^(e-126)), entry 0 all above 0 and below
                               2^-126 */
} htone_histogram;

/** An empty htone_histogram of the right size, to initialize one where it is declared. */
#define HTONE_HISTOGRAM_INIT                                     \
  {                                                              \
    sizeof(htone_histogram), HTONE_F32, 0, 0, 0, 0.0, 0.0, { 0 } \
  }

/** Sets struct_size and empties the other fields, as HTONE_HISTOGRAM_INIT does.
 *
 * @param[out] histogram caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_histogram_init(htone_histogram* histogram);

/** Counts the elements of a tensor by magnitude. Waits for the device, which reads the tensor once, and records
 * nothing.
 *
 * @param[in] input any shape and strides, float, 8-bit ones too; borrowed.
 * @param[in,out] out_histogram struct_size set by the caller; the other fields are written.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, DEVICE, UNSUPPORTED, OUT_OF_MEMORY.
 * @precision exact.
 * @since 0.1
 */
HTONE_API htone_status htone_histogram_of(htone_tensor* input, htone_histogram* out_histogram);

#ifdef __cplusplus
}
#endif

#endif
