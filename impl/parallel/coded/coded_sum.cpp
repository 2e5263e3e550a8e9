#include "parallel/coded/coded_sum.h"

#include "parallel/rounds/averages.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::parallel {
namespace {

// flat / ranks with zeros behind it, so that all parts have one size.
Tensor divided_evenly(const Tensor& flat, int32_t ranks) {
  const Tensor values = divided(flat, ranks, DType::kF32);
  const int64_t size = rounded_up(flat.numel(), ranks);
  if (size == flat.numel()) return values;
  const Tensor padded = full(flat.device(), DType::kF32, {size}, 0.0, Category::kCommunication);
  copy(values, padded.as_strided(values.shape(), values.strides(), 0));
  return padded;
}

ops::Scaled codes_of_bucket(const ReductionCall& call, Remainders& remainders) {
  const Tensor values = divided_evenly(call.bucket.flat, call.exchange.size());
  return encode(values, remainders.find(call.index, Remainders::Stage::kGradients, values.device(), values.numel()));
}

}  // namespace

CodedSum::CodedSum(const ReductionCall& call, Remainders& remainders)
    : message_(call, CodedMessage::Way::kScatter, codes_of_bucket(call, remainders)) {}

Tensor CodedSum::finish() {
  const Tensor parts = ops::from_scaled(message_.finish(), DType::kF32);
  const int64_t part = parts.size(1);
  const auto of_rank = [&](int64_t rank) { return parts.as_strided({part}, {1}, rank * part); };
  const Tensor sum = of_rank(0);
  for (int64_t rank = 1; rank < parts.size(0); ++rank) {
    launch("add_gradients", sum.device(), &Kernels::elementwise, &ElementwiseKernels::binary, BinaryOp::kAdd,
           sum.view(), of_rank(rank).view(), sum.view());
  }
  return sum;
}

}  // namespace halftone::parallel
