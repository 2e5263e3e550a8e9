#include "halftone/moments.h"

#include "base/call.h"
#include "ops/loss_arguments.h"
#include "ops/reduce/moments.h"
#include "tensor/handles.h"
#include "tensor/results.h"

using namespace halftone;
using namespace halftone::capi;

htone_status htone_vector_norm(htone_tensor* input, double p, int32_t dim_count, const int64_t* dims, int32_t keepdim,
                               htone_tensor** out) {
  return Pure(ops::vector_norm, input, as<norm_exponent>(p), as<dim_list>(dim_count, dims), keepdim, out);
}

htone_status htone_var_mean(htone_tensor* input, int32_t dim_count, const int64_t* dims, double correction,
                            int32_t keepdim, htone_tensor** out_variance, htone_tensor** out_mean) {
  return Pure(ops::var_mean, input, as<dim_list>(dim_count, dims), as<finite_number>(correction), keepdim,
              tensor_pair(out_variance, out_mean));
}
