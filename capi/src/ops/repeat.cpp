#include "halftone/repeat.h"

#include "base/call.h"
#include "ops/select/search.h"
#include "ops/shape/repeat.h"
#include "tensor/handles.h"
#include "tensor/results.h"

using namespace halftone;
using namespace halftone::capi;

htone_status htone_repeat_interleave(htone_tensor* input, int64_t count, int64_t dim, htone_tensor** out) {
  return Pure(ops::repeat_interleave, input, count, dim, out);
}

htone_status htone_repeat_interleave_counts(htone_tensor* input, htone_tensor* counts, int64_t dim,
                                            htone_tensor** out) {
  return Pure(ops::repeat_interleave_counts, input, counts, dim, out);
}

htone_status htone_diag(htone_tensor* input, int64_t diagonal, htone_tensor** out) {
  return Pure(ops::diag, input, diagonal, out);
}

htone_status htone_meshgrid(size_t count, htone_tensor* const* grids, int32_t xy, htone_tensor** out_grids) {
  return Pure(ops::meshgrid, several(count, grids), xy, tensors(out_grids));
}
