// Kernels that convert and fill.
// The rules of every entry stand in backend/kernels.h.
#pragma once

#include "backend/device.h"
#include "backend/view.h"

namespace halftone {

struct ConvertKernels {
  // out = in, converted. Any dtype to any dtype, any strides (on `in` 0 repeats and a negative one runs backwards from
  // `data`), equal shapes. Floats round to nearest even; float to integer truncates towards zero and saturates, NaN
  // gives 0; anything to bool is "is not zero".
  Status (*cast)(Stream&, const View& in, const View& out) noexcept;
  Status (*fill)(Stream&, double value, const View& out) noexcept;
  // out[i] = start + i * step in double, i counted in row-major order, converted as cast does.
  Status (*ramp)(Stream&, double start, double step, const View& out) noexcept;
};

}  // namespace halftone
