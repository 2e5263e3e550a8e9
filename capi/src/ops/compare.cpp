#include "halftone/compare.h"

#include "base/call.h"
#include "ops/elementwise/elementwise.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

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

htone_status htone_logical_not(htone_tensor* input, htone_tensor** out) { return Pure(ops::logical_not, input, out); }
htone_status htone_is_nan(htone_tensor* input, htone_tensor** out) { return Pure(ops::is_nan, input, out); }
htone_status htone_is_finite(htone_tensor* input, htone_tensor** out) { return Pure(ops::is_finite, input, out); }

htone_status htone_where(htone_tensor* condition, htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return Pure(ops::where, condition, a, b, out);
}
