#include "ops/elementwise/elementwise.h"

#include "base/call.h"
#include "halftone/ops.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

double bound(double value, ArgumentName name) {
  if (!std::isnan(value)) return value;
  fail(Code::kInvalidArgument, name.text(), "%s is NaN, expected a number or an infinity", name.text());
}

}  // namespace

htone_status htone_exp(htone_tensor* input, htone_tensor** out) { return Pure(ops::exp, input, out); }
htone_status htone_log(htone_tensor* input, htone_tensor** out) { return Pure(ops::log, input, out); }
htone_status htone_sqrt(htone_tensor* input, htone_tensor** out) { return Pure(ops::sqrt, input, out); }
htone_status htone_rsqrt(htone_tensor* input, htone_tensor** out) { return Pure(ops::rsqrt, input, out); }
htone_status htone_reciprocal(htone_tensor* input, htone_tensor** out) { return Pure(ops::reciprocal, input, out); }
htone_status htone_abs(htone_tensor* input, htone_tensor** out) { return Pure(ops::abs, input, out); }
htone_status htone_neg(htone_tensor* input, htone_tensor** out) { return Pure(ops::neg, input, out); }
htone_status htone_sin(htone_tensor* input, htone_tensor** out) { return Pure(ops::sin, input, out); }
htone_status htone_cos(htone_tensor* input, htone_tensor** out) { return Pure(ops::cos, input, out); }
htone_status htone_sigmoid(htone_tensor* input, htone_tensor** out) { return Pure(ops::sigmoid, input, out); }
htone_status htone_tanh(htone_tensor* input, htone_tensor** out) { return Pure(ops::tanh, input, out); }
htone_status htone_silu(htone_tensor* input, htone_tensor** out) { return Pure(ops::silu, input, out); }
htone_status htone_softplus(htone_tensor* input, htone_tensor** out) { return Pure(ops::softplus, input, out); }

htone_status htone_addcmul(htone_tensor* input, htone_tensor* a, htone_tensor* b, double value, htone_tensor** out) {
  return Pure(ops::addcmul, input, a, b, value, out);
}

htone_status htone_addcdiv(htone_tensor* input, htone_tensor* a, htone_tensor* b, double value, htone_tensor** out) {
  return Pure(ops::addcdiv, input, a, b, value, out);
}

htone_status htone_lerp(htone_tensor* input, htone_tensor* end, htone_tensor* weight, htone_tensor** out) {
  return Pure(ops::lerp, input, end, weight, out);
}

htone_status htone_lerp_scalar(htone_tensor* input, htone_tensor* end, double weight, htone_tensor** out) {
  return Pure(ops::lerp_scalar, input, end, as<finite_number>(weight), out);
}

htone_status htone_atan2(htone_tensor* a, htone_tensor* b, htone_tensor** out) { return Pure(ops::atan2, a, b, out); }

htone_status htone_logaddexp(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return Pure(ops::logaddexp, a, b, out);
}

htone_status htone_maximum(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return Pure(ops::maximum, a, b, out);
}

htone_status htone_minimum(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return Pure(ops::minimum, a, b, out);
}

htone_status htone_pow(htone_tensor* base, htone_tensor* exponent, htone_tensor** out) {
  return Pure(ops::pow, base, exponent, out);
}

htone_status htone_pow_scalar(htone_tensor* input, double exponent, htone_tensor** out) {
  return Pure(ops::pow_scalar, input, as<finite_number>(exponent), out);
}

htone_status htone_clamp(htone_tensor* input, double low, double high, htone_tensor** out) {
  return Pure(ops::clamp, input, as<bound>(low), as<bound>(high), out);
}
