#include "halftone/in_place.h"

#include "base/call.h"
#include "ops/elementwise/in_place.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

htone_status htone_tensor_add_in_place(htone_tensor* tensor, htone_tensor* other) {
  return Call(ops::add_in_place, tensor, other);
}

htone_status htone_tensor_sub_in_place(htone_tensor* tensor, htone_tensor* other) {
  return Call(ops::sub_in_place, tensor, other);
}

htone_status htone_tensor_mul_in_place(htone_tensor* tensor, htone_tensor* other) {
  return Call(ops::mul_in_place, tensor, other);
}

htone_status htone_tensor_div_in_place(htone_tensor* tensor, htone_tensor* other) {
  return Call(ops::div_in_place, tensor, other);
}
