#include "base/call.h"
#include "halftone/ops.h"
#include "ops/elementwise/elementwise.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

htone_status htone_floor(htone_tensor* input, htone_tensor** out) { return Pure(ops::floor, input, out); }
htone_status htone_ceil(htone_tensor* input, htone_tensor** out) { return Pure(ops::ceil, input, out); }
htone_status htone_round(htone_tensor* input, htone_tensor** out) { return Pure(ops::round, input, out); }
htone_status htone_sign(htone_tensor* input, htone_tensor** out) { return Pure(ops::sign, input, out); }
htone_status htone_erf(htone_tensor* input, htone_tensor** out) { return Pure(ops::erf, input, out); }
htone_status htone_log1p(htone_tensor* input, htone_tensor** out) { return Pure(ops::log1p, input, out); }
htone_status htone_expm1(htone_tensor* input, htone_tensor** out) { return Pure(ops::expm1, input, out); }

htone_status htone_leaky_relu(htone_tensor* input, double negative_slope, htone_tensor** out) {
  return Pure(ops::leaky_relu, input, as<finite_number>(negative_slope), out);
}

htone_status htone_elu(htone_tensor* input, double alpha, htone_tensor** out) {
  return Pure(ops::elu, input, as<finite_number>(alpha), out);
}
