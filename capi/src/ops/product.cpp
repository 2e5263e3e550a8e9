#include "halftone/product.h"

#include "base/call.h"
#include "ops/reduce/product.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

htone_status htone_prod(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                        htone_tensor** out) {
  return Pure(ops::prod, input, as<dim_list>(dim_count, dims), keepdim, out);
}

htone_status htone_cumprod(htone_tensor* input, int64_t dim, htone_tensor** out) {
  return Pure(ops::cumprod, input, dim, out);
}
