#include "halftone/elementwise.h"

#include "arguments.h"
#include "guard.h"
#include "ops/ops.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

void require_bound(double value, const char* argument) {
  if (std::isnan(value))
    fail(Code::kInvalidArgument, argument, "%s is NaN, expected a number or an infinity", argument);
}

}  // namespace

htone_status htone_exp(htone_tensor* input, htone_tensor** out) {
  return guard([&] { wrap(out, ops::exp(unwrap(input, "input"))); });
}

htone_status htone_log(htone_tensor* input, htone_tensor** out) {
  return guard([&] { wrap(out, ops::log(unwrap(input, "input"))); });
}

htone_status htone_sqrt(htone_tensor* input, htone_tensor** out) {
  return guard([&] { wrap(out, ops::sqrt(unwrap(input, "input"))); });
}

htone_status htone_rsqrt(htone_tensor* input, htone_tensor** out) {
  return guard([&] { wrap(out, ops::rsqrt(unwrap(input, "input"))); });
}

htone_status htone_reciprocal(htone_tensor* input, htone_tensor** out) {
  return guard([&] { wrap(out, ops::reciprocal(unwrap(input, "input"))); });
}

htone_status htone_abs(htone_tensor* input, htone_tensor** out) {
  return guard([&] { wrap(out, ops::abs(unwrap(input, "input"))); });
}

htone_status htone_neg(htone_tensor* input, htone_tensor** out) {
  return guard([&] { wrap(out, ops::neg(unwrap(input, "input"))); });
}

htone_status htone_sin(htone_tensor* input, htone_tensor** out) {
  return guard([&] { wrap(out, ops::sin(unwrap(input, "input"))); });
}

htone_status htone_cos(htone_tensor* input, htone_tensor** out) {
  return guard([&] { wrap(out, ops::cos(unwrap(input, "input"))); });
}

htone_status htone_sigmoid(htone_tensor* input, htone_tensor** out) {
  return guard([&] { wrap(out, ops::sigmoid(unwrap(input, "input"))); });
}

htone_status htone_tanh(htone_tensor* input, htone_tensor** out) {
  return guard([&] { wrap(out, ops::tanh(unwrap(input, "input"))); });
}

htone_status htone_silu(htone_tensor* input, htone_tensor** out) {
  return guard([&] { wrap(out, ops::silu(unwrap(input, "input"))); });
}

htone_status htone_softplus(htone_tensor* input, htone_tensor** out) {
  return guard([&] { wrap(out, ops::softplus(unwrap(input, "input"))); });
}

htone_status htone_maximum(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return guard([&] {
    const Tensor& left = unwrap(a, "a");
    wrap(out, ops::maximum(left, unwrap(b, "b")));
  });
}

htone_status htone_minimum(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return guard([&] {
    const Tensor& left = unwrap(a, "a");
    wrap(out, ops::minimum(left, unwrap(b, "b")));
  });
}

htone_status htone_pow(htone_tensor* base, htone_tensor* exponent, htone_tensor** out) {
  return guard([&] {
    const Tensor& raised = unwrap(base, "base");
    wrap(out, ops::pow(raised, unwrap(exponent, "exponent")));
  });
}

htone_status htone_pow_scalar(htone_tensor* input, double exponent, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    require_finite(exponent, "exponent");
    wrap(out, ops::pow_scalar(x, exponent));
  });
}

htone_status htone_clamp(htone_tensor* input, double low, double high, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    require_bound(low, "low");
    require_bound(high, "high");
    wrap(out, ops::clamp(x, low, high));
  });
}
