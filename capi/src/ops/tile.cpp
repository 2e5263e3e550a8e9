#include "ops/shape/tile.h"

#include "base/call.h"
#include "halftone/ops.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

Shape repeat_list(int32_t repeat_count, const int64_t* repeats) {
  if (repeat_count < 0 || repeat_count > kMaxRank) {
    fail(Code::kInvalidArgument, "repeat_count", "repeat_count=%d is outside [0, %d]", repeat_count, kMaxRank);
  }
  if (repeat_count > 0) require(repeats, "repeats");
  return Shape(repeats, repeat_count);
}

Tensor roll_by(const Tensor& input, int32_t dim_count, const int64_t* dims, const int64_t* shifts) {
  const Shape named = dim_list(dim_count, dims);
  if (dim_count > 0) require(shifts, "shifts");
  return ops::roll(input, named, Shape(shifts, dim_count));
}

}  // namespace

htone_status htone_tile(htone_tensor* input, int32_t repeat_count, const int64_t* repeats, htone_tensor** out) {
  return Pure(ops::tile, input, as<repeat_list>(repeat_count, repeats), out);
}

htone_status htone_roll(htone_tensor* input, int32_t dim_count, const int64_t* dims, const int64_t* shifts,
                        htone_tensor** out) {
  return Pure(roll_by, input, dim_count, dims, shifts, out);
}
