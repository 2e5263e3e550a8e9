/* The speed of the library's matrix product, against which a sample compares its own. */
#ifndef SAMPLES_PRODUCT_RATE_H
#define SAMPLES_PRODUCT_RATE_H

#include <stdbool.h>

#include "halftone/halftone.h"

/* Measures the floating-point operations per second of the product of two 1024 x 1024 matrices of one dtype: the
 * fastest of those that begin within `seconds`, or of the second if that is later. Prints one line and returns false on
 * failure. */
bool product_rate_measure(htone_device* device, htone_dtype dtype, double seconds, double* out);

#endif
