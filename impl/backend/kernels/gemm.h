// The matrix product.
// kernels.h gives the rules for every entry.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/block_scales.h"
#include "backend/device.h"
#include "backend/view.h"

namespace halftone {

// A function of the sums of a product.
enum class GemmActivation : int32_t { kNone, kRelu, kGeluErf, kGeluTanh, kSilu };

// The factors of a product of codes, each one f32 on the device; null counts as 1.
struct GemmScales {
  const float* a = nullptr;
  const float* b = nullptr;
  const float* c = nullptr;  // divides
  // Gets the largest magnitude of the result before `c` divides it and before it is rounded; null for none. A NaN wins,
  // but cuBLASLt may skip it. Of an empty result it is 0.
  float* amax = nullptr;
};

// c = activation(a * b + bias + residual), added to c if store is kAdd. With an `argument`, which is the one that the
// activation had in forward, it is backward instead: c = (a * b + bias + residual) * activation'(argument).
// REQUIRES: kWrite with an activation; an activation and no `sum` with an argument.
// Operands may be codes: 8-bit floats, or E2M1 as a view of dtype kU8 whose shape and strides count codes. Two of these
// share a byte, the even one in the lower half. The product of codes is multiplied by scales.a * scales.b, and each
// code by the scale of its block. REQUIRES of a product of codes: no sums of a.
// c of 8 bits, scales.c or scales.amax: c = (product + bias) / scales.c. REQUIRES then: codes, kWrite, no activation,
// no residual, no sum, no argument.
struct GemmArgs {
  View a = {};         // [m, k], any strides
  View b = {};         // [k, n], any strides
  View bias = {};      // [n]; null data for none
  View residual = {};  // [m, n]; null data for none
  Store store = Store::kWrite;
  View c;  // [m, n], any strides
  GemmActivation activation = GemmActivation::kNone;
  View sum = {};       // [m, n]; gets the argument of the activation; null data for none
  View argument = {};  // [m, n]; null data for none
  // [m]; gets the sums of a's rows, in FP32 (f64: double) and rounded once, or has them added if sums_store is kAdd:
  // the gradient of a bias beside that of a weight. Null data for none. REQUIRES: n > 0.
  View sums_of_a = {};
  Store sums_store = Store::kWrite;
  GemmScales scales = {};
  BlockScales a_blocks = {};  // REQUIRES: a is codes
  BlockScales b_blocks = {};  // REQUIRES: b is codes
  // The CPU's own, for DeviceOption::kTf32Products: FP32 times FP32 rounds both operands to TF32.
  bool rounds_to_tf32 = false;
};

// The way in which a backend will compute one product: made by `schedule`, read by `run`.
struct GemmSchedule {
  size_t workspace = 0;  // bytes of scratch that `run` needs
  // The product of these arguments multiplies by activation'(argument) faster than a kernel of its own would.
  bool fuses_argument = false;
  alignas(8) std::byte choices[112] = {};  // the backend's own
};

// a and b may be codes, both of them, in any mixture; then c may be an 8-bit float too, and saturates at its largest
// finite number. f64 needs every view f64. Otherwise all views are f32, f16 or bf16 in any mixture; products accumulate
// in FP32, the activation and its derivative are computed in FP32, and c is rounded once, when it is stored. k = 0
// gives the activation of bias + residual, and sums of 0. If a and b are bf16, or codes whose products with their
// scales BF16 holds, the CPU may use dot products (cpu/gemm/dot.h): then values and sums below 2^-126 count as zero. A
// backend may apply f32 scales that hold for the whole depth to sums instead of codes.
struct GemmKernels {
  GemmSchedule (*schedule)(Stream&, const GemmArgs& args) noexcept;
  // REQUIRES: `schedule` was made for these arguments.
  Status (*run)(Stream&, const GemmArgs& args, const GemmSchedule& schedule, void* workspace) noexcept;
};

// All entries (backend/kernels/entry.h).
#define HALFTONE_GEMM_ENTRIES(X) \
  X(GemmKernels, schedule)       \
  X(GemmKernels, run)

}  // namespace halftone
