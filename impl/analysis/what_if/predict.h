// Predicts what a rounding would do to a tensor of which only the summary is known: arithmetic on the CPU, in some
// milliseconds whatever the size of the tensor. Pure functions, safe from any thread.
//
// Numbers that follow the distribution of magnitudes.h are rounded, 1024 for each octave with elements; each stands for
// as many elements. They are the points of a sequence that fills the unit cube evenly (M. Roberts, "The unreasonable
// effectiveness of quasirandom sequences", 2018), so that a share of an octave is off by about 0.1 % of its elements.
// The largest and the least element are rounded themselves. Half of the elements count as negative.
#pragma once

#include <cstdint>

#include "analysis/rounding_errors.h"
#include "backend/formula/round_to_format.h"
#include "backend/formula/tensor_summary.h"
#include "ops/scaled/layout.h"

namespace halftone::analysis {

// The errors of the elements multiplied by `scale`, as rounding_errors() measures them. REQUIRES: dtype is a float;
// scale is a normal FP32 above 0.
RoundingErrors predict_rounding(const TensorSummary& summary, DType dtype, const FormatRounding& rule, double scale);

struct ScaledRounding {
  ops::ScaleLayout layout = ops::ScaleLayout::kTensor;  // not kRow, since a summary does not have the length of a row
  NumberFormat format = NumberFormat::kE4M3;            // one that the layout has
  bool scale_rounds_up = false;                         // of kMx1x32
  bool stochastic = false;
};

// The errors of scaled codes (formula/scaling.h), in the unit of the elements. The largest element of a block decides
// on its scale: here each is as likely in one block as in another, as if the elements were in random order. Blocks are
// whole, and those with an infinity or NaN do not count.
RoundingErrors predict_scaled(const TensorSummary& summary, DType dtype, const ScaledRounding& rule);

}  // namespace halftone::analysis
