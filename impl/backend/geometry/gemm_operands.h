// Questions about the operands of a matrix product that every backend asks before it runs one. Pure functions.
#pragma once

#include "backend/kernels/gemm.h"

namespace halftone {

inline bool has_no_result(const GemmArgs& args) noexcept { return args.c.shape[0] == 0 || args.c.shape[1] == 0; }

// UNSUPPORTED where f64 is mixed with other dtypes.
inline Status refuse_mixed_f64(const GemmArgs& args) noexcept {
  const bool wide = args.c.dtype == DType::kF64;
  for (const View* view : {&args.a, &args.b, &args.bias, &args.residual, &args.sum, &args.argument, &args.sums_of_a}) {
    if (view->data == nullptr || (view->dtype == DType::kF64) == wide) continue;
    return Status::failure(Code::kUnsupported, "a matrix product cannot mix f64 with other dtypes");
  }
  return {};
}

// True for 8-bit floats and E2M1.
inline bool is_codes(const View& operand) noexcept { return size_of(operand.dtype) == 1; }

// True if c has a scale, a largest magnitude to find, or codes: then bias is all that is added to the product.
inline bool quantizes_result(const GemmArgs& args) noexcept {
  return args.scales.c != nullptr || args.scales.amax != nullptr || size_of(args.c.dtype) == 1;
}

// True if each f32 scale of a's rows or b's columns holds for the whole depth: it multiplies sums, not codes. A product
// without depth reads no scales.
inline bool scales_sums(const BlockScales& scales, int64_t block_depth, int64_t k) noexcept {
  return scales.data != nullptr && scales.format <= ScaleFormat::kF32Power && block_depth >= k && k > 0;
}
inline bool scales_sums_of_a(const GemmArgs& args) noexcept {
  return scales_sums(args.a_blocks, args.a_blocks.columns, args.a.shape[1]);
}
inline bool scales_sums_of_b(const GemmArgs& args) noexcept {
  return scales_sums(args.b_blocks, args.b_blocks.rows, args.b.shape[0]);
}

// The scales that multiply codes.
inline BlockScales code_scales_of_a(const GemmArgs& args) noexcept {
  return scales_sums_of_a(args) ? BlockScales() : args.a_blocks;
}
inline BlockScales code_scales_of_b(const GemmArgs& args) noexcept {
  return scales_sums_of_b(args) ? BlockScales() : args.b_blocks;
}

// True if BF16 holds every operand exactly, as widened. Values below 2^-126 may lose bits.
inline bool fits_bf16(const GemmArgs& args) noexcept {
  const auto fits = [](const View& operand, const BlockScales& scales) {
    if (!is_codes(operand)) return operand.dtype == DType::kBF16;
    return scales.data == nullptr || scales.format != ScaleFormat::kF32;
  };
  return fits(args.a, code_scales_of_a(args)) && fits(args.b, code_scales_of_b(args));
}

}  // namespace halftone
