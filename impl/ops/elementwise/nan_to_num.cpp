#include <cmath>
#include <limits>

#include "ops/dispatch/autocast.h"
#include "ops/dispatch/check.h"
#include "ops/dispatch/record.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/unary.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {

namespace {

double largest_of(DType dtype) {
  if (dtype == DType::kF64) return std::numeric_limits<double>::max();
  if (dtype == DType::kF32) return std::numeric_limits<float>::max();
  return dtype == DType::kF16 ? 65504.0 : 0x1.fep127;
}

}  // namespace

Tensor nan_to_num(const Tensor& input, double nan, double positive, double negative) {
  require_arithmetic(input, "input");
  const auto [x, dtype] = autocast_unary(Op::kNanToNum, input);
  if (!is_float(dtype)) return converted(x, dtype);  // holds neither
  const double largest = largest_of(dtype);
  const Replacements by = {nan, std::isnan(positive) ? largest : positive, std::isnan(negative) ? -largest : negative};
  Tensor result = empty(x.device(), dtype, x.shape());
  launch("nan_to_num", x.device(), &Kernels::elementwise, &ElementwiseKernels::nan_to_num, by, x.view(), result.view());
  if (auto* node = record<UnaryBackward>(result, {&x}, "nan_to_num")) {
    node->kept = SavedTensor(x);
    node->function = {Op::kNanToNum, UnaryOp::kEnd, BinaryOp::kNanToNumBackward};
    node->dtype = x.dtype();
  }
  return result;
}

}  // namespace halftone::ops
