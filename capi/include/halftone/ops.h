/** @file
 * Operations on tensors. Each makes a new tensor and, if an input requires a gradient, records itself for backward.
 *
 * Inputs of one call must be on one device of one context, else the call returns HTONE_ERROR_DEVICE. "float" is any of
 * f64, f32, f16 and bf16; 8-bit floats are for storage and for the products of fp8.h: other operations that compute
 * return DTYPE_MISMATCH for them, so cast them first. Floats are loaded to FP32 (f64: to double), computed there and
 * rounded once to the result's dtype. Shapes broadcast as in NumPy.
 *
 * @code
 * const int64_t size = 3;
 * htone_tensor* row;
 * check(htone_tensor_create_full(device, HTONE_F32, 1, &size, 10, &row));
 * check(htone_add(x, row, &y)); // [3] broadcasts to [2, 3]
 * check(htone_tensor_read(y, HTONE_F32, values, sizeof values));
 * assert(values[0] == 11 && values[5] == 16);
 * @endcode
 */
#ifndef HALFTONE_OPS_H
#define HALFTONE_OPS_H

#include "halftone/activation.h"
#include "halftone/arithmetic.h"
#include "halftone/compare.h"
#include "halftone/copy.h"
#include "halftone/ctc.h"
#include "halftone/distance.h"
#include "halftone/elementwise.h"
#include "halftone/factory.h"
#include "halftone/format.h"
#include "halftone/fp8.h"
#include "halftone/grid_sample.h"
#include "halftone/image.h"
#include "halftone/in_place.h"
#include "halftone/index.h"
#include "halftone/integers.h"
#include "halftone/linear_algebra.h"
#include "halftone/loss.h"
#include "halftone/moments.h"
#include "halftone/order_statistics.h"
#include "halftone/product.h"
#include "halftone/random.h"
#include "halftone/reduce.h"
#include "halftone/repeat.h"
#include "halftone/scatter.h"
#include "halftone/search.h"
#include "halftone/select.h"
#include "halftone/shape.h"

#endif
