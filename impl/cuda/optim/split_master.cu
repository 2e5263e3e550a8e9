#include "backend/formula/split_master.h"
#include "cuda/base/launch.h"
#include "cuda/optim/entries.h"

namespace halftone::cuda {
namespace {

HALFTONE_KERNEL split_kernel(const float* master, int64_t count, uint16_t* high, int16_t* remainder) {
  for (int64_t i = first_item(); i < count; i += item_step()) {
    high[i] = split_high(master[i]);
    remainder[i] = split_remainder(master[i]);
  }
}

HALFTONE_KERNEL join_kernel(const uint16_t* high, const int16_t* remainder, int64_t count, float* master) {
  for (int64_t i = first_item(); i < count; i += item_step()) master[i] = join_split(high[i], remainder[i]);
}

}  // namespace

Status split_master(Stream& stream, const View& master, const View& out_high, const View& out_remainder) noexcept {
  const int64_t count = master.numel();
  return launch(stream, grid_for_items(device_of(stream), count), split_kernel, static_cast<const float*>(master.data),
                count, static_cast<uint16_t*>(out_high.data), static_cast<int16_t*>(out_remainder.data));
}

Status join_master(Stream& stream, const View& high, const View& remainder, const View& out_master) noexcept {
  const int64_t count = high.numel();
  return launch(stream, grid_for_items(device_of(stream), count), join_kernel, static_cast<const uint16_t*>(high.data),
                static_cast<const int16_t*>(remainder.data), count, static_cast<float*>(out_master.data));
}

}  // namespace halftone::cuda
