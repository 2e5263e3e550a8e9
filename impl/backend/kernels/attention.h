// Scaled dot-product attention: softmax(scale q k^T + mask) v for each head, without a matrix of all scores.
// kernels.h gives the rules for every entry.
#pragma once

#include <cstddef>

#include "backend/device.h"
#include "backend/kernels/random.h"
#include "backend/view.h"

namespace halftone {

struct AttentionSettings {
  double scale = 1.0;
  bool is_causal = false;     // query i sees only the keys j <= i + causal_offset
  int64_t causal_offset = 0;  // in [-queries, keys]
  // p 0: none. Else the probability of key j for row r of all queries (row-major over the dimensions before keys) is
  // dropped as element r * round_up(keys, kAttentionDropoutRow) + j of the sequence.
  Dropout dropout = {.key = {}, .p = 0.0, .scale = 1.0};
};

inline constexpr int64_t kAttentionDropoutRow = 128;

// Leading dimensions are batches, equal in all views. Head h of q reads head h / (heads / kv_heads) of k and v.
struct AttentionArgs {
  View q;          // [..., heads, queries, depth]
  View k;          // [..., kv_heads, keys, depth]
  View v;          // [..., kv_heads, keys, value_depth]
  View mask = {};  // [..., heads, queries, keys]: a float is added to the score, a u8 or bool of 0 hides the key; null
                   // data for none
  AttentionSettings settings = {};
};

// log_sums [..., heads, queries], contiguous, f32 (f64 for f64 inputs), for backward: the logarithm of the row's sum of
// exponentials of scores, infinity for a row that sees no key. Null data for a caller who needs no gradient.
struct AttentionResult {
  View output;  // [..., heads, queries, value_depth]
  View log_sums;
};

struct AttentionSaved {
  View grad_output;  // as output
  View output;
  View log_sums;
};

// Null data for gradients that are not wanted; those of k and v are wanted both or not at all.
struct AttentionGrads {
  View q;
  View k;
  View v;
};

// Rotary position embedding: the pairs of a row's elements are rotated by position * base^(-2 i / depth) for pair i.
struct Rotary {
  double base = 10000.0;
  bool is_interleaved = false;  // pair i is elements 2 i and 2 i + 1; else i and i + depth / 2
  bool is_inverse = false;      // rotates back, which is the gradient
  int64_t offset = 0;           // row i has position offset + i, where no positions are given
};

enum class AttentionPass : int32_t { kForward, kBackward, kBackwardOfMask };

// f64 needs every view but mask f64. Otherwise views are f32, f16 or bf16 in any mixture; products, exponentials and
// sums are in FP32, rounded once, but where the hardware multiplies the dtype that q, k and v share, the products may
// get the weights, and their slopes in backward, in that dtype. Any strides. No size is 0. A row that sees no key gives
// 0, and gradients of 0. A NaN among the scores that a row sees makes the row NaN.
struct AttentionKernels {
  // Bytes of scratch that the pass needs for these arguments.
  size_t (*workspace)(Stream&, AttentionPass pass, const AttentionArgs& args) noexcept;
  Status (*forward)(Stream&, const AttentionArgs& args, void* workspace, const AttentionResult& out) noexcept;
  Status (*backward)(Stream&, const AttentionArgs& args, const AttentionSaved& saved, void* workspace,
                     const AttentionGrads& out) noexcept;
  // The gradient of a mask that is added to the scores. out [..., heads, queries, keys] is a float of any dtype, and a
  // stride of 0 sums over its dimension. Scores and slopes are in FP32 (f64: double) and are not rounded; sums over
  // heads, rows and keys are in double, in one order for any number of threads.
  Status (*backward_of_mask)(Stream&, const AttentionArgs& args, const AttentionSaved& saved, void* workspace,
                             const View& out) noexcept;
  // x and out [..., rows, depth], depth even; f64 or any mixture of f32, f16 and bf16, any strides. positions
  // [..., rows] i64, any strides; null data for none. Angles in double; products in FP32 (f64: double).
  Status (*rotate)(Stream&, const Rotary& rotary, const View& x, const View& positions, const View& out) noexcept;
};

// All entries (backend/kernels/entry.h).
#define HALFTONE_ATTENTION_ENTRIES(X)   \
  X(AttentionKernels, workspace)        \
  X(AttentionKernels, forward)          \
  X(AttentionKernels, backward)         \
  X(AttentionKernels, backward_of_mask) \
  X(AttentionKernels, rotate)

}  // namespace halftone
