#include "halftone/order_statistics.h"

#include "base/call.h"
#include "ops/select/order_statistics.h"
#include "tensor/handles.h"
#include "tensor/results.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

ops::Interpolation checked_interpolation(htone_interpolation value, ArgumentName name) {
  if (value < HTONE_INTERPOLATION_LINEAR || value > HTONE_INTERPOLATION_MIDPOINT) {
    fail(Code::kInvalidArgument, name.text(), "%s=%d is outside [%d, %d]", name.text(), value,
         HTONE_INTERPOLATION_LINEAR, HTONE_INTERPOLATION_MIDPOINT);
  }
  return static_cast<ops::Interpolation>(value);
}

}  // namespace

htone_status htone_kthvalue(htone_tensor* input, int64_t k, int64_t dim, int32_t keepdim, htone_tensor** out_values,
                            htone_tensor** out_indices) {
  return Pure(ops::kthvalue, input, k, dim, keepdim, tensor_pair(out_values, out_indices));
}

htone_status htone_median(htone_tensor* input, htone_tensor** out) { return Pure(ops::median, input, out); }

htone_status htone_median_dim(htone_tensor* input, int64_t dim, int32_t keepdim, htone_tensor** out_values,
                              htone_tensor** out_indices) {
  return Pure(ops::median_dim, input, dim, keepdim, tensor_pair(out_values, out_indices));
}

htone_status htone_quantile(htone_tensor* input, double q, int64_t dim, int32_t keepdim,
                            htone_interpolation interpolation, htone_tensor** out) {
  return Pure(ops::quantile, input, q, dim, keepdim, as<checked_interpolation>(interpolation), out);
}

htone_status htone_cummax(htone_tensor* input, int64_t dim, htone_tensor** out_values, htone_tensor** out_indices) {
  return Pure(ops::cummax, input, dim, tensor_pair(out_values, out_indices));
}

htone_status htone_cummin(htone_tensor* input, int64_t dim, htone_tensor** out_values, htone_tensor** out_indices) {
  return Pure(ops::cummin, input, dim, tensor_pair(out_values, out_indices));
}
