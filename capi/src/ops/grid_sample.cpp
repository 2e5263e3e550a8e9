#include "halftone/grid_sample.h"

#include "base/call.h"
#include "ops/resample/grid_sample.h"
#include "tensor/handles.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

void require_between(int value, int last, ArgumentName name) {
  if (value >= 0 && value <= last) return;
  fail(Code::kInvalidArgument, name.text(), "%s=%d is outside [0, %d]", name.text(), value, last);
}

GridMode grid_mode(htone_grid_mode value, ArgumentName name) {
  require_between(value, HTONE_GRID_MODE_BICUBIC, name);
  return static_cast<GridMode>(value);
}

GridPadding grid_padding(htone_grid_padding value, ArgumentName name) {
  require_between(value, HTONE_GRID_PADDING_REFLECTION, name);
  return static_cast<GridPadding>(value);
}

Tensor grid_sample(const Tensor& input, const Tensor& grid, GridMode mode, GridPadding padding, bool align_corners) {
  return ops::grid_sample(input, grid, {mode, padding, align_corners});
}

}  // namespace

htone_status htone_grid_sample(htone_tensor* input, htone_tensor* grid, htone_grid_mode mode,
                               htone_grid_padding padding_mode, int32_t align_corners, htone_tensor** out) {
  return Pure(grid_sample, input, grid, as<grid_mode>(mode), as<grid_padding>(padding_mode), align_corners, out);
}
