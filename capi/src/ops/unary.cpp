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

htone_status htone_trunc(htone_tensor* input, htone_tensor** out) { return Pure(ops::trunc, input, out); }
htone_status htone_tan(htone_tensor* input, htone_tensor** out) { return Pure(ops::tan, input, out); }
htone_status htone_log2(htone_tensor* input, htone_tensor** out) { return Pure(ops::log2, input, out); }
htone_status htone_log10(htone_tensor* input, htone_tensor** out) { return Pure(ops::log10, input, out); }
htone_status htone_hardswish(htone_tensor* input, htone_tensor** out) { return Pure(ops::hardswish, input, out); }
htone_status htone_mish(htone_tensor* input, htone_tensor** out) { return Pure(ops::mish, input, out); }
htone_status htone_selu(htone_tensor* input, htone_tensor** out) { return Pure(ops::selu, input, out); }
htone_status htone_log_sigmoid(htone_tensor* input, htone_tensor** out) { return Pure(ops::log_sigmoid, input, out); }

htone_status htone_nan_to_num(htone_tensor* input, double nan, double posinf, double neginf, htone_tensor** out) {
  return Pure(ops::nan_to_num, input, nan, posinf, neginf, out);
}

htone_status htone_prelu(htone_tensor* input, htone_tensor* weight, htone_tensor** out) {
  return Pure(ops::prelu, input, weight, out);
}

htone_status htone_glu(htone_tensor* input, int64_t dim, htone_tensor** out) { return Pure(ops::glu, input, dim, out); }

htone_status htone_leaky_relu(htone_tensor* input, double negative_slope, htone_tensor** out) {
  return Pure(ops::leaky_relu, input, as<finite_number>(negative_slope), out);
}

htone_status htone_elu(htone_tensor* input, double alpha, htone_tensor** out) {
  return Pure(ops::elu, input, as<finite_number>(alpha), out);
}
