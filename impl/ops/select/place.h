// Places of values in sorted rows; records nothing.
#pragma once

#include "tensor/tensor.h"

namespace halftone {

// For sorted [rows, n] and values [rows, m] of one dtype: the number of elements of the row before each value, i64;
// with `right` equal elements count, too.
Tensor places_in(const char* operation, const Tensor& sorted, const Tensor& values, bool right);

}  // namespace halftone
