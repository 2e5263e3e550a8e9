// The average of a bucket's gradients that travel as codes of 8 bits, and are added in FP32: each rank sends part r of
// its codes to rank r, which adds what it gets in the order of the ranks. Used by the average over codes and by
// GradientShards, by one thread at a time.
#pragma once

#include "parallel/coded/coded_message.h"
#include "parallel/coded/remainders.h"

namespace halftone::parallel {

class CodedSum {
 public:
  // Gradients are divided by the number of ranks, and their messages start at once. A bucket whose size the ranks do
  // not divide has zeros behind it.
  CodedSum(const ReductionCall& call, Remainders& remainders);

  // Waits. Returns this rank's part of the average, f32 [part]: NaN if a gradient of any rank was not finite. Throws
  // the error of the operations.
  Tensor finish();

 private:
  CodedMessage message_;
};

}  // namespace halftone::parallel
