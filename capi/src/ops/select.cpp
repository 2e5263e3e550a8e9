#include "halftone/select.h"

#include "base/call.h"
#include "ops/select/select.h"
#include "tensor/handles.h"
#include "tensor/results.h"

using namespace halftone;
using namespace halftone::capi;

htone_status htone_sort(htone_tensor* input, int64_t dim, int32_t descending, htone_tensor** out_values,
                        htone_tensor** out_indices) {
  return Pure(ops::sort, input, dim, descending, tensor_pair(out_values, out_indices));
}

htone_status htone_argsort(htone_tensor* input, int64_t dim, int32_t descending, htone_tensor** out) {
  return Pure(ops::argsort, input, dim, descending, out);
}

htone_status htone_topk(htone_tensor* input, int64_t k, int64_t dim, int32_t largest, int32_t sorted,
                        htone_tensor** out_values, htone_tensor** out_indices) {
  return Pure(ops::topk, input, k, dim, largest, sorted, tensor_pair(out_values, out_indices));
}

htone_status htone_multinomial(htone_tensor* probabilities, int64_t num_samples, int32_t replacement,
                               htone_tensor** out) {
  return Pure(ops::multinomial, probabilities, num_samples, replacement, out);
}

htone_status htone_nonzero(htone_tensor* input, htone_tensor** out) { return Pure(ops::nonzero, input, out); }
