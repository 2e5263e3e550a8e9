#include "halftone/scatter.h"

#include "base/call.h"
#include "ops/index/index.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

ops::ScatterReduction checked_reduction(htone_scatter_reduction value, ArgumentName name) {
  if (value < HTONE_SCATTER_SUM || value > HTONE_SCATTER_AMIN) {
    fail(Code::kInvalidArgument, name.text(), "%s=%d is outside [%d, %d]", name.text(), value, HTONE_SCATTER_SUM,
         HTONE_SCATTER_AMIN);
  }
  return static_cast<ops::ScatterReduction>(value);
}

}  // namespace

htone_status htone_index_add(htone_tensor* input, int64_t dim, htone_tensor* index, htone_tensor* source,
                             htone_tensor** out) {
  return Pure(ops::index_add, input, dim, index, source, out);
}

htone_status htone_index_copy(htone_tensor* input, int64_t dim, htone_tensor* index, htone_tensor* source,
                              htone_tensor** out) {
  return Pure(ops::index_copy, input, dim, index, source, out);
}

htone_status htone_scatter(htone_tensor* input, int64_t dim, htone_tensor* index, htone_tensor* source,
                           htone_tensor** out) {
  return Pure(ops::scatter, input, dim, index, source, out);
}

htone_status htone_scatter_scalar(htone_tensor* input, int64_t dim, htone_tensor* index, double number,
                                  htone_tensor** out) {
  return Pure(ops::scatter_scalar, input, dim, index, number, out);
}

htone_status htone_scatter_reduce(htone_tensor* input, int64_t dim, htone_tensor* index, htone_tensor* source,
                                  htone_scatter_reduction reduce, int32_t include_self, htone_tensor** out) {
  return Pure(ops::scatter_reduce, input, dim, index, source, as<checked_reduction>(reduce), include_self, out);
}

htone_status htone_index_put(htone_tensor* input, size_t index_count, htone_tensor* const* indices,
                             htone_tensor* values, int32_t accumulate, htone_tensor** out) {
  return Pure(ops::index_put, input, several(index_count, indices), values, accumulate, out);
}
