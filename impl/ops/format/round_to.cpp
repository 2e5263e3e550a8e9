#include "ops/format/round_to.h"

#include "core/error.h"
#include "ops/dispatch/check.h"
#include "tensor/factory.h"
#include "tensor/launch.h"

namespace halftone::ops {
namespace {

FormatBits bits_of(DType dtype) {
  if (dtype == DType::kF64) return ieee_format(11, 52);
  if (dtype == DType::kF32) return ieee_format(8, 23);
  return dtype == DType::kF16 ? halftone::bits_of(NumberFormat::kF16) : halftone::bits_of(NumberFormat::kBF16);
}

// True if every number of `a` is one of `b`.
bool is_part_of(const FormatBits& a, const FormatBits& b) {
  return a.mantissa_bits <= b.mantissa_bits && a.max_exponent() <= b.max_exponent() &&
         a.step_exponent() >= b.step_exponent();
}

// Kernels compute f32, f16 and bf16 in FP32, and cannot round to a format that has more digits. Each number of such a
// dtype, an infinity as well, is then a result.
constexpr FormatRounding kUnchanged = {.format = ieee_format(8, 23), .overflow = Overflow::kNonFinite};
bool is_within_float(const FormatBits& format) { return is_part_of(format, kUnchanged.format); }

// A format that holds every number of the dtype changes none. A format of the dtype's own numbers is rounded to.
// Another one has results that the dtype would have to round again.
void require_result(const FormatBits& format, DType dtype) {
  const FormatBits own = bits_of(dtype);
  if (is_part_of(format, own) || is_part_of(own, format)) return;
  fail(Code::kDtypeMismatch, "input",
       "input is %s, which does not hold every number with %d exponent bits and %d mantissa bits", name_of(dtype),
       format.exponent_bits, format.mantissa_bits);
}

}  // namespace

Tensor round_to(const Tensor& input, const FormatRounding& rule) {
  require_float(input, "input");
  require_result(rule.format, input.dtype());
  Tensor result = empty(input.device(), input.dtype(), input.shape());
  const FormatRounding kernel_rule = is_within_float(rule.format) || input.dtype() == DType::kF64 ? rule : kUnchanged;
  launch("round_to", input.device(), &Kernels::convert, &ConvertKernels::round_to, input.view(), kernel_rule,
         result.view());
  return result;
}

}  // namespace halftone::ops
