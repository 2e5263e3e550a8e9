/** @file
 * Predictions of what another format, scale or recipe would do to a tensor, from its histogram alone: without training
 * again, and without the tensor. Histograms come from htone_histogram_of, or from the record of a run, which the
 * program halftone-analyze reads.
 *
 * A histogram has the number of elements in each octave, the largest and the least. Shares of elements below or above
 * powers of two are therefore exact. Within an octave the density of the magnitudes is taken to be a power of them that
 * follows from the octaves beside it. docs/precision-tools.md has how far predictions were from measurements.
 *
 * @code
 * htone_histogram histogram = HTONE_HISTOGRAM_INIT;
 * htone_rounding_errors errors = HTONE_ROUNDING_ERRORS_INIT;
 * int64_t many = 1000;
 * check(htone_tensor_create_full(device, HTONE_F32, 1, &many, 1e-8, &x));
 * check(htone_histogram_of(x, &histogram));
 * check(htone_predict_rounding(&histogram, HTONE_FORMAT_F16, 1, NULL, &errors));
 * assert(errors.underflow_share == 1); // all become 0
 * check(htone_predict_rounding(&histogram, HTONE_FORMAT_F16, 65536, NULL, &errors));
 * assert(errors.underflow_share == 0);
 * @endcode
 */
#ifndef HALFTONE_WHAT_IF_H
#define HALFTONE_WHAT_IF_H

#include "halftone/analysis.h"
#include "halftone/histogram.h"
#include "halftone/scaled.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Predicts what htone_analyze_rounding would measure if the elements were multiplied by a scale and rounded to a
 * format. Elements that the recorded dtype has lost already count as zeros. Loss scales: the histogram of gradients
 * that were recorded under a loss scale r has r times the gradients; scale s / r shows a loss scale of s.
 *
 * @param[in] histogram counts of at least 0, at most 2^53 in all; `largest` in the last entry of exponents that is not
 *   0 and `least` in the first, or both 0 if there are none.
 * @param[in] format the format.
 * @param[in] scale a normal FP32 above 0.
 * @param[in] options optional; NULL means the defaults: to nearest even, and numbers beyond the largest one saturate.
 * @param[in,out] out_errors struct_size set by the caller; the other fields are written. `largest`, `rms_error` and
 *   `loss_scale` are of the elements times the scale.
 * @errors INVALID_ARGUMENT (a field of histogram, the format, an option, scale), UNSUPPORTED (structures of a newer
 *   version), OUT_OF_MEMORY.
 * @precision an estimate from 1024 numbers for each octave, the same in each call. Where a threshold of the format,
 *   divided by the scale, is a power of two, the share is exact.
 * @since 0.1
 */
HTONE_API htone_status htone_predict_rounding(const htone_histogram* histogram, htone_format format, double scale,
                                              const htone_round_options* options, htone_rounding_errors* out_errors);

/** Predicts the errors of the codes and scales that htone_scaled_create would make of the elements: those of FP8,
 * block, MX and NV recipes. The scale of a block follows from its largest element. A histogram does not have the
 * blocks, so elements are taken to be in random order. Where large elements lie together, as in a row of one token,
 * other blocks have smaller scales, and fewer elements are lost than predicted.
 *
 * @param[in] histogram as of htone_predict_rounding.
 * @param[in] options optional; NULL means the defaults. Not HTONE_SCALE_LAYOUT_ROW, because a histogram has no rows;
 *   seed and sequence have no effect.
 * @param[in,out] out_errors struct_size set by the caller; the other fields are written. Shares are of codes: 0,
 *   subnormal, saturated. `loss_scale` is that of unscaled elements in the format of the codes.
 * @errors INVALID_ARGUMENT (a field of histogram, an option), UNSUPPORTED (structures of a newer version),
 *   OUT_OF_MEMORY.
 * @precision an estimate, as that of htone_predict_rounding.
 * @since 0.1
 */
HTONE_API htone_status htone_predict_scaled(const htone_histogram* histogram, const htone_scaled_options* options,
                                            htone_rounding_errors* out_errors);

#ifdef __cplusplus
}
#endif

#endif
