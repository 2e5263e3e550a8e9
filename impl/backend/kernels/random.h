// Kernels that draw.
// The rules of every entry stand in backend/kernels.h.
#pragma once

#include "backend/device.h"
#include "backend/view.h"
#include "core/philox.h"

namespace halftone {

// Which elements stay, and what they are multiplied by.
struct Dropout {
  PhiloxKey key;
  double p;  // of an element to go; in [0, 1], rounded up to the 2^-24 grid
  double scale;
};

// Element i (in row-major order) of the output depends on (key, i) alone, beside the input's element, but in
// permutations.
struct RandomKernels {
  // Uniform in [low, high): low + (high - low) * u, u on the 2^-24 grid, rounded to the output's dtype.
  Status (*uniform)(Stream&, PhiloxKey key, double low, double high, const View& out) noexcept;
  // Box-Muller on pairs of uniforms.
  Status (*normal)(Stream&, PhiloxKey key, double mean, double std, const View& out) noexcept;
  // out = in * scale where the uniform that `uniform` draws of [0, 1) is at least p, else in * 0: NaN stays NaN. Any
  // strides, 0 on `in` repeats; in f64 where out is, else in FP32, rounded once.
  Status (*dropout)(Stream&, const Dropout&, const View& in, const View& out) noexcept;
  // out = the numbers from 0 on in an order of backend/formula/shuffle.h; i64, contiguous.
  Status (*permutation)(Stream&, PhiloxKey key, const View& out) noexcept;
};

}  // namespace halftone
