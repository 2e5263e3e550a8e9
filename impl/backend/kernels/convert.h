// Kernels that convert and fill.
// kernels.h gives the rules for every entry.
#pragma once

#include "backend/device.h"
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
};

}  // namespace halftone
