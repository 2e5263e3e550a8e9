#include "halftone/einsum.h"

#include "arguments.h"
#include "guard.h"

using namespace halftone;
using namespace halftone::capi;

htone_status htone_einsum(const char* equation, htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return guard([&] {
    require(equation, "equation");
    const Tensor& left = unwrap(a, "a");
    wrap(out, ops::einsum(equation, left, unwrap_optional(b, "b")));
  });
}
