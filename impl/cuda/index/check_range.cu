#include "cuda/base/block.h"
#include "cuda/base/launch.h"
#include "cuda/index/entries.h"

namespace halftone::cuda {
namespace {

struct Least {
  HALFTONE_DEVICE int64_t operator()(int64_t a, int64_t b) const { return a < b ? a : b; }
};

// Each block reports the first of its entries that is out of range.
HALFTONE_KERNEL check_kernel(const int64_t* indices, int64_t count, Fault fault, Fault* word) {
  int64_t first = INT64_MAX;
  for (int64_t i = first_item(); i < count && first == INT64_MAX; i += item_step()) {
    if (indices[i] < 0 || indices[i] >= fault.bound) first = i;
  }
  first = reduce_block(first, static_cast<int64_t>(INT64_MAX), Least());
  if (threadIdx.x == 0 && first != INT64_MAX) report(word, fault, first, indices[first]);
}

}  // namespace

Status check_range(Stream& stream, const char* name, const View& indices, int64_t bound) noexcept {
  const int64_t count = indices.numel();
  return launch(stream, grid_for_items(device_of(stream), count), check_kernel,
                static_cast<const int64_t*>(indices.data), count,
                possible_fault(FaultKind::kIndex, name, indices.shape, bound), device_of(stream).fault);
}

}  // namespace halftone::cuda
