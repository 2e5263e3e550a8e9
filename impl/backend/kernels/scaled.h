// Kernels of scaled tensors: codes with a scale for each block, and what low-precision recipes keep beside them.
// backend/formula/scaling.h has the formulas.
// kernels.h gives the rules for every entry.
#pragma once

#include "backend/device.h"
#include "backend/view.h"
#include "core/number/number_format.h"
#include "core/philox.h"

namespace halftone {

// How the scale of a block follows from its largest magnitude.
enum class ScaleRule : int32_t {
  kGiven,    // it does not: one f32 for all elements is read
  kDivided,  // f32: amax / largest number of the format
  kPower,    // f32: a power of two, rounded up
  kMxDown,   // E8M0 (u8), OCP's rule
  kMxUp,     // E8M0 (u8), rounded up
  kNvfp4,    // E4M3, under the f32 of the tensor
};

// A matrix of values as codes and scales. The value of element (i, j) is its code times
// scales[i / block_rows, j / block_columns] times *tensor_scale.
struct ScaledView {
  View codes;   // [rows, columns]; f8e4m3, f8e5m2, or u8: E2M1, whose strides count codes, two in a byte, the even one
                // in the low half
  View scales;  // f32, u8 (E8M0) or f8e4m3
  const float* tensor_scale = nullptr;  // on the device; null: 1
  NumberFormat format = NumberFormat::kE4M3;
  int64_t block_rows = 1;
  int64_t block_columns = 1;
};

// How values become codes: to nearest even, or up or down by chance. Element (i, j) then takes word j % 256 of block
// i * ceil(columns / 256) + j / 256 of the Philox sequence `key`, 256 words of 16 bits.
struct CodeRounding {
  ScaleRule rule = ScaleRule::kDivided;
  bool is_stochastic = false;
  PhiloxKey key;
};

// How the scale of a tensor follows from the largest magnitudes of earlier steps.
struct HistoryRule {
  NumberFormat format = NumberFormat::kE4M3;
  bool takes_newest = false;  // else the largest
  float factor = 1;           // of the scale: head-room
};

struct ScaledKernels {
  // scale (one f32) = the scale of a tensor from its largest magnitude (one f32), for codes of `format`: kDivided, or
  // kNvfp4, whose blocks have scales of their own under it.
  Status (*tensor_scale)(Stream&, const View& amax, ScaleRule rule, NumberFormat format, const View& scale) noexcept;
  // codes and scales of a matrix (f32, f16, bf16; any strides). amax (one f32) gets the largest magnitude; null data
  // for none. REQUIRES: the codes are contiguous and rows begin at whole bytes; a block is one row, or as high as wide;
  // amax only with kGiven.
  Status (*quantize_blocks)(Stream&, const View& in, const CodeRounding& rounding, const View& amax,
                            const ScaledView& out) noexcept;
  // The random Hadamard transform (formula/hadamard.h) of each whole block of 16 neighbours in a row; the rest of a row
  // stays. in: f32, f16 or bf16, any strides; out: such a dtype, contiguous, apart from in.
  Status (*rotate_blocks)(Stream&, const View& in, const PhiloxKey& key, const View& out) noexcept;
  // A step of delayed scaling: scale (one f32) = that of the magnitude that the rule takes from `history` (f32 [n],
  // contiguous, the newest first), or stays where there is none: infinities, NaN and 0 do not count. Then the history
  // moves on by one place, and its newest is 0.
  Status (*advance_history)(Stream&, const HistoryRule& rule, const View& history, const View& scale) noexcept;
  // out (a float, contiguous) = the values: code times block scale in FP32, which is exact but for subnormal numbers,
  // then times the tensor's scale, each rounded once.
  Status (*dequantize_blocks)(Stream&, const ScaledView& in, const View& out) noexcept;
  // All that relu's backward needs of its result x, in one bit for each element: bits (u8 [ceil(n / 8)]) = 1 in bit
  // i % 8 of byte i / 8 unless element i of x is 0 or less, so of NaN, too. Bits behind the last element are 0. x: f32,
  // f16 or bf16. Both are contiguous.
  Status (*relu_bits)(Stream&, const View& x, const View& bits) noexcept;
  // out = grad_output where the bit is 1, else 0. Both: f32, f16 or bf16, contiguous.
  Status (*relu_backward_of_bits)(Stream&, const View& grad_output, const View& bits, const View& out) noexcept;
};

// All entries (backend/kernels/entry.h).
#define HALFTONE_SCALED_ENTRIES(X)    \
  X(ScaledKernels, tensor_scale)      \
  X(ScaledKernels, quantize_blocks)   \
  X(ScaledKernels, rotate_blocks)     \
  X(ScaledKernels, advance_history)   \
  X(ScaledKernels, dequantize_blocks) \
  X(ScaledKernels, relu_bits)         \
  X(ScaledKernels, relu_backward_of_bits)

}  // namespace halftone
