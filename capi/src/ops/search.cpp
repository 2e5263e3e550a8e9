#include "halftone/search.h"

#include "base/call.h"
#include "ops/select/search.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

htone_status htone_searchsorted(htone_tensor* sorted_sequence, htone_tensor* values, int32_t right,
                                htone_tensor** out) {
  return Pure(ops::searchsorted, sorted_sequence, values, right, out);
}

htone_status htone_isin(htone_tensor* input, htone_tensor* elements, htone_tensor** out) {
  return Pure(ops::isin, input, elements, out);
}

htone_status htone_bincount(htone_tensor* input, htone_tensor* weights, int64_t minlength, htone_tensor** out) {
  return Pure(ops::bincount, input, optional(weights), minlength, out);
}
