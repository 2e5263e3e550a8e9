// Numbers that travel as codes of E5M2, a byte each, under one FP32 scale of the rank that sends them. Used by CodedSum
// and the average over codes, by one thread at a time.
//
// The scale is a power of two from the largest magnitude, rounded up: no number saturates, and the largest has the top
// exponent. Zeros have codes of 0. With an infinity or NaN the scale is NaN, and all numbers read NaN.
#pragma once

#include <cstdint>

#include "ops/scaled/scaled.h"
#include "parallel/mesh/started_work.h"
#include "parallel/rounds/reduction.h"

namespace halftone::parallel {

// The codes of `values`, f32 and contiguous, and of `remainder`, which is added first and becomes what the codes lose.
// It becomes 0 where that is not finite: an overflow, which a gradient scaler expects, must not stay. It may be
// undefined; else it has as many elements.
ops::Scaled encode(const Tensor& values, const Tensor& remainder);

class CodedMessage {
 public:
  enum class Way : uint8_t {
    kScatter,  // rank r gets part r of the codes, whose number the ranks divide
    kGather    // every rank gets all of them
  };
  // Starts it at once, with the scales in an operation beside it.
  CodedMessage(const ReductionCall& call, Way way, const ops::Scaled& own);

  // Waits. Row r of the result are the codes that rank r has sent to this one, under its scale. Throws the error of the
  // operations.
  ops::Scaled finish();

 private:
  const ops::Scaled received_;
  StartedWork codes_work_;
  StartedWork scales_work_;
};

}  // namespace halftone::parallel
