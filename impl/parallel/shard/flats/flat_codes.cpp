#include "parallel/shard/flats/flat_codes.h"

#include "ops/scaled/scaled.h"
#include "tensor/launch.h"

namespace halftone::parallel {
namespace {

Tensor as_row(const Tensor& range) { return range.as_strided({1, range.numel()}, {range.numel(), 1}, range.offset()); }

// Kernels take matrices.
ScaledView scaled_view(const Tensor& codes, const Tensor& scale) {
  return ops::view_of({.codes = as_row(codes), .scales = scale, .tensor_scale = {}, .shape = {1, codes.numel()}});
}

}  // namespace

void set_scale(const Tensor& magnitude, const Tensor& scale) {
  launch("gather_weights", scale.device(), &Kernels::scaled, &ScaledKernels::tensor_scale, magnitude.view(),
         ScaleRule::kDivided, NumberFormat::kE4M3, scale.view());
}

void encode(const Tensor& values, const Tensor& scale, const Tensor& codes) {
  launch("gather_weights", codes.device(), &Kernels::scaled, &ScaledKernels::quantize_blocks, as_row(values).view(),
         CodeRounding{.rule = ScaleRule::kGiven, .is_stochastic = false, .key = {}}, View{}, scaled_view(codes, scale));
}

void decode(const Tensor& codes, const Tensor& scale, const Tensor& values) {
  launch("gather_weights", codes.device(), &Kernels::scaled, &ScaledKernels::dequantize_blocks,
         scaled_view(codes, scale), as_row(values).view());
}

}  // namespace halftone::parallel
