/** @file
 * Tools that show how a format of few digits changes numbers: sums as its arithmetic computes them, its properties, and
 * the errors of a rounding. They are no operations: they wait for the device, read the tensor once as f64, compute in
 * one thread of the CPU, and record nothing. docs/precision-tools.md shows them; the program halftone-analyze calls
 * them.
 *
 * @code
 * htone_format_info info = HTONE_FORMAT_INFO_INIT;
 * int64_t many = 100000;
 * double sum;
 * check(htone_tensor_create_full(device, HTONE_F32, 1, &many, 1e-4, &x));
 * check(htone_sum_in(x, HTONE_FORMAT_F16, HTONE_SUM_NAIVE, &sum));
 * assert(sum == 0.25); // and not 10: 0.25 + 1e-4 is rounded to 0.25
 * check(htone_sum_in(x, HTONE_FORMAT_F16, HTONE_SUM_KAHAN, &sum));
 * assert(sum == 10);
 * check(htone_format_describe(HTONE_FORMAT_F16, NULL, &info));
 * assert(info.largest == 65504);
 * @endcode
 */
#ifndef HALFTONE_ANALYSIS_H
#define HALFTONE_ANALYSIS_H

#include "halftone/format.h"
#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How htone_sum_in adds. */
typedef enum htone_sum_method {
  HTONE_SUM_NAIVE = 1,    /**< one element after the other to one sum, which begins as 0 */
  HTONE_SUM_PAIRWISE = 2, /**< the sum of two parts, each summed in this way: the first part has as many elements as the
                               largest power of two below their number */
  HTONE_SUM_KAHAN = 3,    /**< in order, and each element less what the addition before it added too much */
  HTONE_SUM_NEUMAIER = 4, /**< in order; the error of each addition goes to a second sum, which is added at the end */
  HTONE_SUM_EXACT = 5, /**< all digits of all elements, rounded to the format once, at the end; the elements themselves
                            are not rounded, and their order does not matter */
  HTONE_SUM_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_sum_method;

/** Returns the sum of all elements as the arithmetic of a format computes it. Each element is rounded to the format
 * first. Then each operation's exact result is rounded to the format, to nearest even; KAHAN and NEUMAIER have
 * subtractions, too. The order is that of the indices, whatever the strides are. The sum of no elements is 0.
 * A result beyond the format's largest number is an infinity; in E4M3, which has none, NaN; in E2M1, which has neither,
 * the largest number. A sum with NaN is NaN, as is one with infinities of both signs. A sum with infinities of one sign
 * is that infinity (NaN in E4M3): KAHAN and NEUMAIER leave out a correction that is not finite. In E2M1 an infinity is
 * the largest number.
 *
 * @param[in] input any shape, float; borrowed. The call needs 8 bytes of memory for each element.
 * @param[in] format one with a name, not HTONE_FORMAT_CUSTOM.
 * @param[in] method the order and the operations.
 * @param[out] out_sum a number of the format.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT, DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision as described; EXACT is the exact sum rounded once.
 * @source Kahan, "Further remarks on reducing truncation errors", CACM 8(1), 1965; Neumaier,
 *   "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", ZAMM 54, 1974; Kulisch, "Computer
 *   Arithmetic and Validity", 2013.
 * @since 0.1
 */
HTONE_API htone_status htone_sum_in(htone_tensor* input, htone_format format, htone_sum_method method, double* out_sum);

/** Properties of a format. All numbers are exact but the two ranges in dB. */
typedef struct htone_format_info {
  uint32_t struct_size;      /**< set by the caller to sizeof(htone_format_info) */
  int32_t bits;              /**< of a number: sign, exponent and mantissa; TF32 has 19 */
  int32_t exponent_bits;     /**< of the exponent */
  int32_t mantissa_bits;     /**< without the leading 1 */
  int32_t bias;              /**< the exponent's code for 2^0 */
  int32_t decimal_digits;    /**< how many decimal digits every number in the normal range keeps */
  int32_t has_infinity;      /**< not 0: the format has infinities */
  int32_t has_nan;           /**< not 0: the format has NaN */
  double largest;            /**< finite number */
  double smallest_normal;    /**< above 0 */
  double smallest_subnormal; /**< above 0 */
  double epsilon;            /**< the distance from 1 to the next larger number */
  double range_db;           /**< 20 log10(largest / smallest_subnormal) */
  double normal_range_db;    /**< 20 log10(largest / smallest_normal) */
} htone_format_info;

/** An empty htone_format_info of the right size, to initialize one where it is declared. */
#define HTONE_FORMAT_INFO_INIT \
  { sizeof(htone_format_info), 0, 0, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0 }

/** Sets struct_size and empties the other fields, as HTONE_FORMAT_INFO_INIT does.
 *
 * @param[out] info caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_format_info_init(htone_format_info* info);

/** Describes a format.
 *
 * @param[in] format the format.
 * @param[in] options optional; exponent_bits and mantissa_bits are those of HTONE_FORMAT_CUSTOM, and the other options
 *   have no effect.
 * @param[in,out] out_info struct_size set by the caller; the other fields are written.
 * @errors INVALID_ARGUMENT, UNSUPPORTED (options of a newer version).
 * @source IEEE 754, OCP's 8-bit Floating Point Specification 1.0 and Microscaling Formats 1.0.
 * @since 0.1
 */
HTONE_API htone_status htone_format_describe(htone_format format, const htone_round_options* options,
                                             htone_format_info* out_info);

/** The errors of a rounding. Shares and errors are of the elements that are finite and not 0. A relative error is the
 * change of an element divided by the element, without sign: 1 for an element that becomes 0. Elements whose result is
 * an infinity or NaN have no error; they count in overflow_share alone. */
typedef struct htone_rounding_errors {
  uint32_t struct_size;   /**< set by the caller to sizeof(htone_rounding_errors) */
  uint32_t reserved;      /**< 0 */
  int64_t nonzero;        /**< the number of finite elements other than 0 */
  int64_t zeros;          /**< the number of elements that are 0 */
  int64_t non_finite;     /**< the number of infinities and NaN among the elements */
  double mean_error;      /**< of the relative errors */
  double p95_error;       /**< the smallest relative error that 95 % of the errors do not exceed */
  double p99_error;       /**< likewise, of 99 % */
  double max_error;       /**< the largest relative error */
  double rms_error;       /**< root of the mean square of the absolute errors */
  double snr_db;          /**< 10 log10(sum of squares of the elements / of the errors); an infinity without errors */
  double underflow_share; /**< of elements that become 0 */
  double subnormal_share; /**< of elements that become a subnormal number, which has fewer digits */
  double overflow_share;  /**< of elements beyond the largest number after rounding */
  double largest;         /**< the largest magnitude of the finite elements */
  double loss_scale; /**< recommended: 2^floor(log2(the format's largest number / largest)), the largest power of two
                          at which no element overflows; in [2^-126, 2^127]; 1 if all elements are 0. To leave room
                          for elements 2^k times as large, divide it by 2^k */
} htone_rounding_errors;

/** An empty htone_rounding_errors of the right size, to initialize one where it is declared. */
#define HTONE_ROUNDING_ERRORS_INIT \
  { sizeof(htone_rounding_errors), 0, 0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0 }

/** Sets struct_size and empties the other fields, as HTONE_ROUNDING_ERRORS_INIT does.
 *
 * @param[out] errors caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_rounding_errors_init(htone_rounding_errors* errors);

/** Measures what htone_round_to would do to the elements of a tensor. The results are those of a tensor of f64, so the
 * dtype of input limits no format.
 *
 * @param[in] input any shape, float; borrowed. The call needs 16 bytes of memory for each element.
 * @param[in] format the format.
 * @param[in] options optional; NULL means the defaults: to nearest even, and numbers beyond the largest one saturate.
 * @param[in,out] out_errors struct_size set by the caller; the other fields are written.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (a format, an option), UNSUPPORTED (options of a newer version),
 *   DTYPE_MISMATCH, DEVICE, OUT_OF_MEMORY.
 * @precision sums in f64.
 * @since 0.1
 */
HTONE_API htone_status htone_analyze_rounding(htone_tensor* input, htone_format format,
                                              const htone_round_options* options, htone_rounding_errors* out_errors);

#ifdef __cplusplus
}
#endif

#endif
