#include "halftone/reduce.h"

#include "arguments.h"
#include "guard.h"
#include "ops/ops.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

// Both results or none.
void wrap_pair(htone_tensor** out_values, htone_tensor** out_indices, ops::ValuesAndIndices pair) {
  htone_tensor* values = nullptr;
  wrap(&values, std::move(pair.values));
  try {
    wrap(out_indices, std::move(pair.indices));
  } catch (...) {
    release_handle(values, "out_values");
    throw;
  }
  *out_values = values;
}

}  // namespace

htone_status htone_amax(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                        htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    wrap(out, ops::amax(x, checked_dims_argument(dim_count, dims), keepdim != 0));
  });
}

htone_status htone_amin(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                        htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    wrap(out, ops::amin(x, checked_dims_argument(dim_count, dims), keepdim != 0));
  });
}

htone_status htone_var(htone_tensor* input, int32_t dim_count, const int64_t* dims, double correction, int32_t keepdim,
                       htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    require_finite(correction, "correction");
    wrap(out, ops::var(x, checked_dims_argument(dim_count, dims), correction, keepdim != 0));
  });
}

htone_status htone_std(htone_tensor* input, int32_t dim_count, const int64_t* dims, double correction, int32_t keepdim,
                       htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    require_finite(correction, "correction");
    wrap(out, ops::std(x, checked_dims_argument(dim_count, dims), correction, keepdim != 0));
  });
}

htone_status htone_max_dim(htone_tensor* input, int64_t dim, int32_t keepdim, htone_tensor** out_values,
                           htone_tensor** out_indices) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    require(out_values, "out_values");
    require(out_indices, "out_indices");
    wrap_pair(out_values, out_indices, ops::max_dim(x, dim, keepdim != 0));
  });
}

htone_status htone_min_dim(htone_tensor* input, int64_t dim, int32_t keepdim, htone_tensor** out_values,
                           htone_tensor** out_indices) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    require(out_values, "out_values");
    require(out_indices, "out_indices");
    wrap_pair(out_values, out_indices, ops::min_dim(x, dim, keepdim != 0));
  });
}

htone_status htone_argmax(htone_tensor* input, int64_t dim, int32_t keepdim, htone_tensor** out) {
  return guard([&] { wrap(out, ops::argmax(unwrap(input, "input"), dim, keepdim != 0)); });
}

htone_status htone_argmin(htone_tensor* input, int64_t dim, int32_t keepdim, htone_tensor** out) {
  return guard([&] { wrap(out, ops::argmin(unwrap(input, "input"), dim, keepdim != 0)); });
}

htone_status htone_any(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                       htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    wrap(out, ops::any(x, checked_dims_argument(dim_count, dims), keepdim != 0));
  });
}

htone_status htone_all(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                       htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    wrap(out, ops::all(x, checked_dims_argument(dim_count, dims), keepdim != 0));
  });
}

htone_status htone_cumsum(htone_tensor* input, int64_t dim, htone_tensor** out) {
  return guard([&] { wrap(out, ops::cumsum(unwrap(input, "input"), dim)); });
}

htone_status htone_log_sum_exp(htone_tensor* input, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                               htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    wrap(out, ops::log_sum_exp(x, checked_dims_argument(dim_count, dims), keepdim != 0));
  });
}
