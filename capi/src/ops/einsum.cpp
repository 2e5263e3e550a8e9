#include "base/call.h"
#include "halftone/ops.h"
#include "ops/matmul/matmul.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

htone_status htone_einsum(const char* equation, htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return Pure(ops::einsum, equation, a, optional(b), out);
}
