#include "halftone/reduce.h"

#include "base/call.h"
#include "ops/reduce/reduce.h"
#include "tensor/handles.h"
#include "tensor/results.h"

using namespace halftone;
using namespace halftone::capi;

htone_status htone_amax(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                        htone_tensor** out) {
  return Pure(ops::amax, input, as<dim_list>(dim_count, dims), keepdim, out);
}

htone_status htone_amin(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                        htone_tensor** out) {
  return Pure(ops::amin, input, as<dim_list>(dim_count, dims), keepdim, out);
}

htone_status htone_var(htone_tensor* input, int32_t dim_count, const int64_t* dims, double correction, int32_t keepdim,
                       htone_tensor** out) {
  return Pure(ops::var, input, as<dim_list>(dim_count, dims), as<finite_number>(correction), keepdim, out);
}

htone_status htone_std(htone_tensor* input, int32_t dim_count, const int64_t* dims, double correction, int32_t keepdim,
                       htone_tensor** out) {
  return Pure(ops::std, input, as<dim_list>(dim_count, dims), as<finite_number>(correction), keepdim, out);
}

htone_status htone_max_dim(htone_tensor* input, int64_t dim, int32_t keepdim, htone_tensor** out_values,
                           htone_tensor** out_indices) {
  return Pure(ops::max_dim, input, dim, keepdim, tensor_pair(out_values, out_indices));
}

htone_status htone_min_dim(htone_tensor* input, int64_t dim, int32_t keepdim, htone_tensor** out_values,
                           htone_tensor** out_indices) {
  return Pure(ops::min_dim, input, dim, keepdim, tensor_pair(out_values, out_indices));
}

htone_status htone_argmax(htone_tensor* input, int64_t dim, int32_t keepdim, htone_tensor** out) {
  return Pure(ops::argmax, input, dim, keepdim, out);
}

htone_status htone_argmin(htone_tensor* input, int64_t dim, int32_t keepdim, htone_tensor** out) {
  return Pure(ops::argmin, input, dim, keepdim, out);
}

htone_status htone_any(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                       htone_tensor** out) {
  return Pure(ops::any, input, as<dim_list>(dim_count, dims), keepdim, out);
}

htone_status htone_all(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                       htone_tensor** out) {
  return Pure(ops::all, input, as<dim_list>(dim_count, dims), keepdim, out);
}

htone_status htone_cumsum(htone_tensor* input, int64_t dim, htone_tensor** out) {
  return Pure(ops::cumsum, input, dim, out);
}

htone_status htone_log_sum_exp(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                               htone_tensor** out) {
  return Pure(ops::log_sum_exp, input, as<dim_list>(dim_count, dims), keepdim, out);
}
