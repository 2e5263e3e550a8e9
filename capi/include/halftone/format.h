/** @file
 * Numbers rounded to a floating-point format of fewer digits, in the dtype that they have. A training step can so be
 * tried in a format that no dtype stores, and results of a GPU's formats can be reproduced on any device.
 *
 * @code
 * htone_round_options options = HTONE_ROUND_OPTIONS_INIT;
 * htone_tensor* rounded;
 * options.rounding = HTONE_ROUNDING_UP;
 * check(htone_round_to(x, HTONE_FORMAT_E2M1, &options, &rounded)); // of 1 to 6, 5 becomes 6
 * check(htone_sum(rounded, 0, NULL, 0, &y));
 * check(htone_tensor_item(y, &number));
 * assert(number == 22);
 * @endcode
 */
#ifndef HALFTONE_FORMAT_H
#define HALFTONE_FORMAT_H

#include "halftone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Floating-point formats: exponent bits, mantissa bits, and the largest finite number. */
typedef enum htone_format {
  HTONE_FORMAT_F16 = 1,  /**< 5, 10: 65504; IEEE 754 binary16 */
  HTONE_FORMAT_BF16 = 2, /**< 8, 7: about 3.39e38 */
  HTONE_FORMAT_TF32 = 3, /**< 8, 10: about 3.40e38; in which tensor cores multiply f32 */
  HTONE_FORMAT_E4M3 = 4, /**< 4, 3: 448; one NaN and no infinities. OCP's E4M3, f8e4m3 */
  HTONE_FORMAT_E5M2 = 5, /**< 5, 2: 57344; OCP's E5M2, f8e5m2 */
  HTONE_FORMAT_E2M1 = 6, /**< 2, 1: 6; finite numbers alone. OCP's FP4, of MXFP4 and NVFP4 */
  HTONE_FORMAT_CUSTOM =
      7,                /**< exponent_bits and mantissa_bits of the options, with infinities and NaN as in IEEE 754 */
  HTONE_FORMAT_F32 = 8, /**< 8, 23: about 3.40e38; IEEE 754 binary32 */
  HTONE_FORMAT_F64 = 9, /**< 11, 52: about 1.80e308; IEEE 754 binary64 */
  HTONE_FORMAT_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_format;

/** How a number between two numbers of a format is rounded. */
typedef enum htone_rounding {
  HTONE_ROUNDING_NEAREST_EVEN = 1, /**< to the nearer one; of two equally near the one whose last bit is 0 */
  HTONE_ROUNDING_TOWARD_ZERO = 2,  /**< to the smaller magnitude */
  HTONE_ROUNDING_UP = 3,           /**< to the larger number */
  HTONE_ROUNDING_DOWN = 4,         /**< to the smaller number */
  HTONE_ROUNDING_STOCHASTIC = 5,   /**< by chance, each with the other's share of the distance, so that the mean is the
                                        number itself */
  HTONE_ROUNDING_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_rounding;

/** The result for numbers beyond the largest one of a format, and for infinities. */
typedef enum htone_overflow {
  HTONE_OVERFLOW_SATURATE = 1,   /**< the largest number, with their sign */
  HTONE_OVERFLOW_NON_FINITE = 2, /**< an infinity; in E4M3, which has none, NaN; in E2M1, which has neither, the largest
                                      number. A finite number that is rounded towards 0 becomes the largest number, as
                                      in IEEE 754 */
  HTONE_OVERFLOW_MAX_ENUM = 0x7FFFFFFF /**< no value: fixes the size of the type */
} htone_overflow;

/** Settings of htone_round_to. */
typedef struct htone_round_options {
  uint32_t struct_size;    /**< sizeof of this structure */
  htone_rounding rounding; /**< default HTONE_ROUNDING_NEAREST_EVEN */
  htone_overflow overflow; /**< default HTONE_OVERFLOW_SATURATE */
  int32_t exponent_bits;   /**< of HTONE_FORMAT_CUSTOM, 2 to 8; default 8 */
  int32_t mantissa_bits;   /**< of HTONE_FORMAT_CUSTOM, 0 to 23, without the leading 1; default 10 */
  uint32_t reserved;       /**< 0 */
  uint64_t seed;           /**< of HTONE_ROUNDING_STOCHASTIC: a seed and a sequence always give the same random words;
                                default 0 */
  uint64_t sequence;       /**< the number of the call, such as a step: each sequence has other words; default 0 */
} htone_round_options;

/** The defaults, to initialize a htone_round_options where it is declared. */
#define HTONE_ROUND_OPTIONS_INIT \
  { sizeof(htone_round_options), HTONE_ROUNDING_NEAREST_EVEN, HTONE_OVERFLOW_SATURATE, 8, 10, 0, 0, 0 }

/** Fills options with the defaults.
 *
 * @param[out] options caller's memory.
 * @errors INVALID_ARGUMENT.
 * @since 0.1
 */
HTONE_EXPORT htone_status htone_round_options_init(htone_round_options* options);

/** Rounds each number to a format, and returns it in the dtype of input. Numbers below the format's smallest normal one
 * are rounded to its subnormal ones. NaN stays NaN, also in E2M1; 0 keeps its sign. Nothing is recorded: the slope of a
 * rounding is 0 almost everywhere.
 *
 * @param[in] input any shape, float; borrowed. Its dtype must hold every number of the format, or the format every
 *   number of the dtype, which then stays unchanged: f64 and f32 have all formats, f16 all but BF16, and bf16 all but
 *   F16, of those with a name. A tensor of f64 has an f32's numbers after HTONE_FORMAT_F32.
 * @param[in] format the format.
 * @param[in] options optional; NULL means the defaults.
 * @param[out] out shape and dtype of input; owned by the caller.
 * @autocast as is.
 * @errors INVALID_HANDLE, INVALID_ARGUMENT (a format, an option), UNSUPPORTED (options of a newer version),
 *   DTYPE_MISMATCH, OUT_OF_MEMORY.
 * @precision one rounding, of f64, too. A stochastic rounding compares 32 random bits with the share, which is exact
 *   where at most 32 bits are dropped; the words depend on seed, sequence and the element's index alone, not on the
 *   number of threads or the device.
 * @source the formats: IEEE 754, OCP's 8-bit Floating Point Specification 1.0 and Microscaling Formats 1.0.
 * @since 0.1
 */
HTONE_API htone_status htone_round_to(htone_tensor* input, htone_format format, const htone_round_options* options,
                                      htone_tensor** out);

#ifdef __cplusplus
}
#endif

#endif
