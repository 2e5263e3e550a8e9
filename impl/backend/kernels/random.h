// Kernels that draw random numbers.
// kernels.h gives the rules for every entry.
#pragma once

#include "backend/device.h"
#include "backend/view.h"
#include "core/philox.h"

namespace halftone {

// The elements to keep, and their factor.
struct Dropout {
  PhiloxKey key;
  double p;  // the probability that an element is dropped; in [0, 1], rounded up to the 2^-24 grid
  double scale;
};

// Except for permutation, output element i (row-major) depends only on (key, i) and on the input's element i.
struct RandomKernels {
  // Uniform in [low, high): low + (high - low) * u, u on the 2^-24 grid, rounded to the output's dtype.
  Status (*uniform)(Stream&, PhiloxKey key, double low, double high, const View& out) noexcept;
  // Box-Muller on pairs of uniforms.
  Status (*normal)(Stream&, PhiloxKey key, double mean, double std, const View& out) noexcept;
  // out = in * scale where the uniform number in [0, 1) that `uniform` draws is at least p, else in * 0: NaN stays NaN.
  // Any strides; 0 on `in` repeats. Computed in f64 if out is f64, else in FP32, and rounded once.
  Status (*dropout)(Stream&, const Dropout&, const View& in, const View& out) noexcept;
  // out = a permutation of 0 to n - 1 by backend/formula/shuffle.h; i64, contiguous.
  Status (*permutation)(Stream&, PhiloxKey key, const View& out) noexcept;
};

// All entries (backend/kernels/entry.h).
#define HALFTONE_RANDOM_ENTRIES(X) \
  X(RandomKernels, uniform)        \
  X(RandomKernels, normal)         \
  X(RandomKernels, dropout)        \
  X(RandomKernels, permutation)

}  // namespace halftone
