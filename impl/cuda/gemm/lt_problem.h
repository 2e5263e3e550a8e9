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
  LtMatrix c;               // d itself, or a residual
  int32_t type = 0;         // of a: a cudaDataType_t
  int32_t type_of_b = 0;    // a's, or another 8-bit float
  int32_t result_type = 0;  // of d
  int32_t added_type = 0;   // of c
  int32_t compute = 0;      // a cublasComputeType_t
  int32_t adds = 0;         // c to the product
  int32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  // The bias has one element for each row of d. Its memory may be that of an operand's sums instead.
  int32_t bias_type = 0;
  int32_t bias_alignment = 0;
  // The argument of an activation has d's type. The product writes it in forward and reads it in backward.
  int64_t argument_leading = 0;
  int32_t argument_alignment = 0;
  int32_t is_swapped = 0;  // a and b have changed places
  // Of 8-bit floats: scales of a and b, and what d has.
  int32_t has_scales = 0;
  int32_t mode_of_a = 0;  // of the scales: a ScaleMode
  int32_t mode_of_b = 0;
  int32_t has_result_scale = 0;
  int32_t has_amax = 0;
  auto operator<=>(const LtProblem&) const = default;
};

// The memory of a problem, in the terms of cuBLASLt. Not read where only an algorithm is sought.
struct LtPointers {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* d = nullptr;
  const void* bias = nullptr;      // or the memory for sums of an operand
  const void* argument = nullptr;  // or the memory for it
  const void* scale_a = nullptr;
  const void* scale_b = nullptr;
  const float* result_scale = nullptr;
  float* amax = nullptr;
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

// The ends of a product that cuBLASLt may compute, and its precision. Plain data, which fits into
// GemmSchedule::choices.
struct LtOptions {
  bool allows_tf32 = false;  // products of FP32 operands may round them
  bool fuses_gelu = false;   // with cuBLASLt's own precision
  bool fuses_sums = true;    // of a's rows
};

LtPlan lt_plan(const GemmArgs& args, const LtOptions& options) noexcept;
// An end that not every product has an algorithm for: it needs another plan then, without it.
bool has_rare_end(const LtProblem& problem) noexcept;
// The product gives the sums of a's rows.
bool gives_sums(const LtProblem& problem) noexcept;
// The cudaDataType_t of a dtype; negative for none.
int32_t lt_type_of(DType dtype) noexcept;
// Describes the operands of c = a b, all as they lie in memory, and swaps them where c is row-major. Returns false for
// strides that cuBLASLt does not take.
bool describe_matrices(const View& a, const View& b, const View& c, LtProblem* problem) noexcept;
// As one matrix: a row-major [rows, columns] is a column-major [columns, rows].
bool as_column_major(const View& view, LtMatrix* out) noexcept;
// True if cuBLASLt can add the bias, which is of `dtype`, along c's rows.
bool takes_bias(const GemmArgs& args, DType dtype) noexcept;
// Sets the epilogue and the memory of the product's bias, if it has one.
void describe_bias(const GemmArgs& args, DType dtype, LtProblem* problem) noexcept;
bool is_large_enough(const GemmArgs& args) noexcept;
// Sums in FP32 of c's shape, row-major; null where only their layout matters, which then counts as aligned.
View sums_view(const GemmArgs& args, float* sums) noexcept;
// True for a product that is worth advice: large, of 16-bit numbers, with rows that do not begin at multiples of 16
// bytes, which the fastest algorithms need.
bool is_misaligned(const LtProblem& problem) noexcept;

}  // namespace halftone::cuda
