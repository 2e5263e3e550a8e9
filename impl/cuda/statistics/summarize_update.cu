#include "cuda/base/block.h"
#include "cuda/base/places.h"
#include "cuda/statistics/entries.h"
#include "cuda/statistics/shared_count.h"

namespace halftone::cuda {
namespace {

struct Update {
  Elements before;
  Elements after;
  Elements gradient;
};

HALFTONE_DEVICE int64_t& count_of(UpdateSummary& summary, int kind) {
  switch (kind) {
    case kLostUpdate:
      return summary.lost;
    case kStillWeight:
      return summary.still;
    case kNotFiniteUpdate:
      return summary.not_finite;
    default:
      return summary.ratios[kind];
  }
}

// A block counts in its shared memory, and adds its counts once. Each thread takes single elements.
HALFTONE_KERNEL summarize_elements(Places<3> places, Update update, UpdateSummary* summary) {
  __shared__ unsigned counts[kUpdateKinds];
  for (int i = static_cast<int>(threadIdx.x); i < kUpdateKinds; i += kThreads) counts[i] = 0;
  __syncthreads();
  for (int64_t i = first_item(); i < places.count; i += item_step()) {
    const Offsets<3> offsets = offsets_at(places, i);
    atomicAdd(&counts[update_kind(load<float>(update.before, offsets.at[0]), load<float>(update.after, offsets.at[1]),
                                  load<float>(update.gradient, offsets.at[2]))],
              1u);
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kUpdateKinds; i += kThreads) {
    add_shared(count_of(*summary, i), counts[i]);
  }
}

}  // namespace

Status summarize_update(Stream& stream, const View& before, const View& after, const View& gradient,
                        UpdateSummary* summary) noexcept {
  const Places<3> places = places_of(before, after, gradient);
  const Update update = {.before = {before.data, before.dtype},
                         .after = {after.data, after.dtype},
                         .gradient = {gradient.data, gradient.dtype}};
  return launch(stream, grid_for_items(device_of(stream), places.count), summarize_elements, places, update, summary);
}

}  // namespace halftone::cuda
