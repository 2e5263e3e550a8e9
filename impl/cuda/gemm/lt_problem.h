// A product in the terms of cuBLASLt: d = op(a) op(b) + c, all column-major. Our row-major c is the column-major
// transpose, so that a and b change places. Pure functions, safe from any thread.
#pragma once

#include <cublasLt.h>

#include <compare>

#include "backend/kernels/gemm.h"

namespace halftone::cuda {

// An operand as it lies in memory: column-major, with `leading` elements from one column to the next.
struct LtMatrix {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t leading = 0;
  int32_t is_transposed = 0;
  int32_t alignment = 0;  // bytes of the pointer's alignment, at most 256
  auto operator<=>(const LtMatrix&) const = default;
};

struct LtProblem {
  LtMatrix a, b, d;
  LtMatrix c;               // of d's type: d itself, or a residual
  int32_t type = 0;         // of the operands: a cudaDataType_t
  int32_t result_type = 0;  // of d
  int32_t compute = 0;      // a cublasComputeType_t
  int32_t adds = 0;         // c to the product
  int32_t has_bias = 0;     // of d's type, one element for each row of d
  int32_t is_swapped = 0;   // a and b have changed places
  auto operator<=>(const LtProblem&) const = default;
};

// The algorithm for a problem. Plain data, which fits into GemmSchedule::choices.
struct LtChoice {
  cublasLtMatmulAlgo_t algorithm = {};
  size_t workspace = 0;
};

// How a product is computed: cuBLASLt writes c, or sums in FP32, which another kernel finishes.
struct LtPlan {
  bool is_possible = false;
  bool writes_sums = false;
  LtProblem problem;
};

// `allows_tf32`: products of FP32 operands may round them.
LtPlan lt_plan(const GemmArgs& args, bool allows_tf32) noexcept;
// True for a product that is worth advice: large, of 16-bit numbers, with rows that do not begin at multiples of 16
// bytes, which the fastest algorithms need.
bool is_misaligned(const LtProblem& problem) noexcept;

}  // namespace halftone::cuda
