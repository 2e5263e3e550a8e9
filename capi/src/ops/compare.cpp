#include "halftone/compare.h"

#include "base/call.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reduce/reduce.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

double tolerance(double value, ArgumentName name) {
  if (value >= 0) return value;
  fail(Code::kInvalidArgument, name.text(), "%s=%g, expected at least 0", name.text(), value);
}

Tensor is_close(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  return ops::is_close(a, b, {rtol, atol, equal_nan});
}
bool all_close(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  return ops::all_close(a, b, {rtol, atol, equal_nan});
}

}  // namespace

htone_status htone_eq(htone_tensor* a, htone_tensor* b, htone_tensor** out) { return Pure(ops::eq, a, b, out); }
htone_status htone_ne(htone_tensor* a, htone_tensor* b, htone_tensor** out) { return Pure(ops::ne, a, b, out); }
htone_status htone_lt(htone_tensor* a, htone_tensor* b, htone_tensor** out) { return Pure(ops::lt, a, b, out); }
htone_status htone_le(htone_tensor* a, htone_tensor* b, htone_tensor** out) { return Pure(ops::le, a, b, out); }
htone_status htone_gt(htone_tensor* a, htone_tensor* b, htone_tensor** out) { return Pure(ops::gt, a, b, out); }
htone_status htone_ge(htone_tensor* a, htone_tensor* b, htone_tensor** out) { return Pure(ops::ge, a, b, out); }

htone_status htone_logical_and(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return Pure(ops::logical_and, a, b, out);
}

htone_status htone_logical_or(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return Pure(ops::logical_or, a, b, out);
}

htone_status htone_logical_xor(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return Pure(ops::logical_xor, a, b, out);
}

htone_status htone_logical_not(htone_tensor* input, htone_tensor** out) { return Pure(ops::logical_not, input, out); }
htone_status htone_is_nan(htone_tensor* input, htone_tensor** out) { return Pure(ops::is_nan, input, out); }
htone_status htone_is_finite(htone_tensor* input, htone_tensor** out) { return Pure(ops::is_finite, input, out); }

htone_status htone_is_inf(htone_tensor* input, htone_tensor** out) { return Pure(ops::is_inf, input, out); }

htone_status htone_is_close(htone_tensor* a, htone_tensor* b, double rtol, double atol, int32_t equal_nan,
                            htone_tensor** out) {
  return Pure(is_close, a, b, as<tolerance>(rtol), as<tolerance>(atol), equal_nan, out);
}

htone_status htone_all_close(htone_tensor* a, htone_tensor* b, double rtol, double atol, int32_t equal_nan,
                             int32_t* out_close) {
  return Pure(all_close, a, b, as<tolerance>(rtol), as<tolerance>(atol), equal_nan, out_close);
}

htone_status htone_where(htone_tensor* condition, htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return Pure(ops::where, condition, a, b, out);
}
