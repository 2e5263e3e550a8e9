// Matrices of codes with scales of blocks, as kernels read them. Device code.
#pragma once

#include "backend/formula/block_scale.h"
#include "backend/geometry/gemm_operands.h"
#include "core/number/float4.h"
#include "cuda/gemm/product.h"

namespace halftone::cuda {

// scales.data is null where no scale multiplies codes.
struct CodeMatrix {
  Matrix codes;
  BlockScales scales;

  HALFTONE_DEVICE float value(int64_t row, int64_t column) const {
    return code(row * codes.strides[0] + column * codes.strides[1]) * scale_at(scales, row, column);
  }

 private:
  // kU8 holds codes of E2M1, two in a byte.
  HALFTONE_DEVICE float code(int64_t at) const {
    if (codes.elements.dtype != DType::kU8) return load<float>(codes.elements, at);
    const uint8_t pair = static_cast<const uint8_t*>(codes.elements.data)[at / 2];
    return Float4E2M1{static_cast<uint8_t>(pair >> (4 * (at % 2)) & 15)};
  }
};

// The operands, as tiles.h reads them.
struct CodeProduct {
  int64_t m, n, k;
  CodeMatrix left, right;

  HALFTONE_DEVICE bool a_by_depth() const { return left.codes.strides[1] == 1; }
  HALFTONE_DEVICE bool b_by_depth() const { return right.codes.strides[0] == 1; }
  template <class C>
  HALFTONE_DEVICE C a(int64_t row, int64_t depth) const {
    return left.value(row, depth);
  }
  template <class C>
  HALFTONE_DEVICE C b(int64_t depth, int64_t column) const {
    return right.value(depth, column);
  }
};

inline CodeProduct code_product_of(const GemmArgs& args) {
  return {.m = args.c.shape[0],
          .n = args.c.shape[1],
          .k = args.a.shape[1],
          .left = {matrix_of(args.a), code_scales_of_a(args)},
          .right = {matrix_of(args.b), code_scales_of_b(args)}};
}

}  // namespace halftone::cuda
