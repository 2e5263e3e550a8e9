// Kernels of losses that sum over the alignments of a sequence.
// kernels.h gives the rules for every entry.
#pragma once

#include "backend/device.h"
#include "backend/view.h"

namespace halftone {

// Connectionist temporal classification. All views are contiguous; states are those of formula/ctc.h.
struct CtcArgs {
  View log_probabilities;  // [t, n, c], f32 or f64
  View targets;            // [n, s], i64: in [0, c), also beyond a target's length
  View input_lengths;      // [n], i64 in [0, t]
  View target_lengths;     // [n], i64 in [0, s]
  View forward;            // [n, t, 2 s + 1], f64: logarithms of the sums over the beginnings of alignments
  View losses;             // [n], f64
  int64_t blank = 0;       // in [0, c)
};

struct SequenceKernels {
  // Writes forward and losses; a loss without an alignment is infinite. Elements of forward beyond a length are not
  // written. Lengths that a check_range before found out of range are cut.
  Status (*ctc)(Stream&, const CtcArgs& args) noexcept;
  // Adds the derivatives of the losses times grad [n], f64, to grad_input [t, n, c] in the dtype of log_probabilities,
  // which holds zeros; a sequence with an infinite loss adds nothing where `zero_infinity`, else NaN. `backward` [n, 2,
  // 2 s + 1], f64, is scratch. Gradients of equal labels add up in the order of the target.
  Status (*ctc_backward)(Stream&, const CtcArgs& args, const View& grad, bool zero_infinity, const View& backward,
                         const View& grad_input) noexcept;
};

// All entries (backend/kernels/entry.h).
#define HALFTONE_SEQUENCE_ENTRIES(X) \
  X(SequenceKernels, ctc)            \
  X(SequenceKernels, ctc_backward)

}  // namespace halftone
