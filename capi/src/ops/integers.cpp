#include "halftone/integers.h"

#include "base/call.h"
#include "ops/elementwise/elementwise.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

htone_status htone_fmod(htone_tensor* a, htone_tensor* b, htone_tensor** out) { return Pure(ops::fmod, a, b, out); }

htone_status htone_remainder(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return Pure(ops::remainder, a, b, out);
}

htone_status htone_floor_divide(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return Pure(ops::floor_divide, a, b, out);
}

htone_status htone_bitwise_and(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return Pure(ops::bitwise_and, a, b, out);
}

htone_status htone_bitwise_or(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return Pure(ops::bitwise_or, a, b, out);
}

htone_status htone_bitwise_xor(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return Pure(ops::bitwise_xor, a, b, out);
}

htone_status htone_bitwise_not(htone_tensor* input, htone_tensor** out) { return Pure(ops::bitwise_not, input, out); }
