// The functions of the table kElementwiseKernels, documented there. Safe from any thread.
#pragma once

#include "backend/kernels/elementwise.h"
#include "backend/kernels/entry.h"

namespace halftone::cpu {

HALFTONE_ELEMENTWISE_ENTRIES(HALFTONE_DECLARE_ENTRY)

// True if `exponent` is one f64 element, finite and repeated, for a float output narrower than f64.
bool is_one_wide_exponent(const View& exponent, const View& out) noexcept;
// kPower and kPowerBaseBackward for such an exponent.
Status power(Stream& stream, const View& x, const View& exponent, const View& out) noexcept;
Status power_backward(Stream& stream, const View& grad_output, const View& x, const View& exponent,
                      const View& out) noexcept;

}  // namespace halftone::cpu
