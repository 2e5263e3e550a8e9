// Kernels that convert and fill.
// kernels.h gives the rules for every entry.
#pragma once

#include "backend/device.h"
#include "backend/formula/round_to_format.h"
#include "backend/view.h"

namespace halftone {

struct ConvertKernels {
  // out = in, converted: any dtype to any dtype, equal shapes, any strides. On `in` a stride of 0 repeats an element
  // and a negative one runs backwards from `data`. Floats round to nearest even; float to integer truncates towards
  // zero and saturates, NaN gives 0; a bool result is "is not zero".
  Status (*cast)(Stream&, const View& in, const View& out) noexcept;
  Status (*fill)(Stream&, double value, const View& out) noexcept;
  // out[i] = start + i * step in double, i in row-major order, converted as cast does.
  Status (*arange)(Stream&, double start, double step, const View& out) noexcept;
  // out (f32, one element) = the largest magnitude of a float tensor; NaN wins; 0 of no elements.
  Status (*abs_max)(Stream&, const View& in, const View& out) noexcept;
  // out = in / scale in FP32, rounded to 8-bit floats and saturated at the largest finite number; NaN stays. scale and
  // amax (f32) have one element; amax gets the abs_max of in; null data for none.
  Status (*quantize)(Stream&, const View& in, const View& scale, const View& amax, const View& out) noexcept;
  // out (f32, one element) = the largest finite element of amax (f32, any shape and strides) divided by `largest`; 1
  // where that is not above 0.
  Status (*quantize_scale)(Stream&, const View& amax, double largest, const View& out) noexcept;
  // out = in, of one float dtype, rounded to a format whose numbers the dtype holds (formula/round_to_format.h).
  Status (*round_to)(Stream&, const View& in, const FormatRounding& rule, const View& out) noexcept;
};

// All entries (backend/kernels/entry.h).
#define HALFTONE_CONVERT_ENTRIES(X) \
  X(ConvertKernels, cast)           \
  X(ConvertKernels, fill)           \
  X(ConvertKernels, arange)         \
  X(ConvertKernels, abs_max)        \
  X(ConvertKernels, quantize)       \
  X(ConvertKernels, quantize_scale) \
  X(ConvertKernels, round_to)

}  // namespace halftone
