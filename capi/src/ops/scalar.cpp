#include "ops/elementwise/scalar.h"

#include "base/call.h"
#include "halftone/ops.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

htone_status htone_add_scalar(htone_tensor* input, double number, htone_tensor** out) {
  return Pure(ops::add_scalar, input, number, out);
}

htone_status htone_sub_scalar(htone_tensor* input, double number, htone_tensor** out) {
  return Pure(ops::sub_scalar, input, number, out);
}

htone_status htone_mul_scalar(htone_tensor* input, double number, htone_tensor** out) {
  return Pure(ops::mul_scalar, input, number, out);
}

htone_status htone_div_scalar(htone_tensor* input, double number, htone_tensor** out) {
  return Pure(ops::div_scalar, input, number, out);
}

htone_status htone_eq_scalar(htone_tensor* input, double number, htone_tensor** out) {
  return Pure(ops::eq_scalar, input, number, out);
}

htone_status htone_ne_scalar(htone_tensor* input, double number, htone_tensor** out) {
  return Pure(ops::ne_scalar, input, number, out);
}

htone_status htone_lt_scalar(htone_tensor* input, double number, htone_tensor** out) {
  return Pure(ops::lt_scalar, input, number, out);
}

htone_status htone_le_scalar(htone_tensor* input, double number, htone_tensor** out) {
  return Pure(ops::le_scalar, input, number, out);
}

htone_status htone_gt_scalar(htone_tensor* input, double number, htone_tensor** out) {
  return Pure(ops::gt_scalar, input, number, out);
}

htone_status htone_ge_scalar(htone_tensor* input, double number, htone_tensor** out) {
  return Pure(ops::ge_scalar, input, number, out);
}
