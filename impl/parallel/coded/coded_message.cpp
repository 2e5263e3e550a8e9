#include "parallel/coded/coded_message.h"

#include "ops/scaled/fp8.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::parallel {
namespace {

constexpr NumberFormat kFormat = NumberFormat::kE5M2;

Tensor as_row(const Tensor& values) {
  return values.as_strided({1, values.numel()}, {values.numel(), 1}, values.offset());
}

// The scale of a block whose largest magnitude is that of all values.
Tensor scale_of(const Tensor& values) {
  const Tensor most = ops::abs_max(values);
  return ops::to_scaled(as_row(most), {.layout = ops::ScaleLayout::kBlock1x128, .format = kFormat}).scales;
}

ops::Scaled codes_of(const Tensor& values) {
  return ops::to_scaled(as_row(values),
                        {.layout = ops::ScaleLayout::kTensor, .format = kFormat, .scale = scale_of(values)});
}

void combine(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& out) {
  launch("encode_gradients", out.device(), &Kernels::elementwise, &ElementwiseKernels::binary, op, a.view(), b.view(),
         out.view());
}

// Memory for what the ranks send to this one.
ops::Scaled memory_for(const Exchange& exchange, CodedMessage::Way way, const ops::Scaled& own) {
  const int64_t ranks = exchange.size(), sent = own.codes.numel();
  const Shape shape = {ranks, way == CodedMessage::Way::kScatter ? sent / ranks : sent};
  return {.codes = empty(exchange.device(), own.codes.dtype(), shape, Category::kCommunication),
          .scales = empty(exchange.device(), DType::kF32, {ranks, 1}, Category::kCommunication),
          .tensor_scale = {},
          .layout = ops::ScaleLayout::kRow,
          .format = own.format,
          .shape = shape};
}

StartedWork start_codes(const ReductionCall& call, CodedMessage::Way way, const Tensor& own, const Tensor& received) {
  if (way == CodedMessage::Way::kGather) return call.exchange.start_all_gather(own, received, call.options(2));
  return call.exchange.start_all_to_all(own, received, call.options(0));
}

}  // namespace

ops::Scaled encode(const Tensor& values, const Tensor& remainder) {
  if (!remainder.defined()) return codes_of(values);
  combine(BinaryOp::kAdd, values, remainder, remainder);
  ops::Scaled codes = codes_of(remainder);
  const Tensor rest = as_row(remainder);
  combine(BinaryOp::kSubtract, rest, ops::from_scaled(codes, DType::kF32), rest);
  launch("encode_gradients", rest.device(), &Kernels::elementwise, &ElementwiseKernels::nan_to_num,
         Replacements{.nan = 0, .positive = 0, .negative = 0}, rest.view(), rest.view());
  return codes;
}

CodedMessage::CodedMessage(const ReductionCall& call, Way way, const ops::Scaled& own)
    : received_(memory_for(call.exchange, way, own)),
      codes_work_(start_codes(call, way, own.codes, received_.codes)),
      scales_work_(
          call.exchange.start_all_gather(own.scales, received_.scales, call.options(way == Way::kGather ? 3 : 1))) {}

ops::Scaled CodedMessage::finish() {
  codes_work_.wait();
  scales_work_.wait();
  return received_;
}

}  // namespace halftone::parallel
