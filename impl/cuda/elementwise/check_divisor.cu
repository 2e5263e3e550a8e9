#include "cuda/base/block.h"
#include "cuda/base/launch.h"
#include "cuda/elementwise/entries.h"

namespace halftone::cuda {
namespace {

struct Least {
  HALFTONE_DEVICE int64_t operator()(int64_t a, int64_t b) const { return a < b ? a : b; }
};

// Each block reports the first 0 of its entries.
HALFTONE_KERNEL check_divisor_kernel(const int64_t* divisor, int64_t count, Fault fault, Fault* word) {
  int64_t first = INT64_MAX;
  for (int64_t i = first_item(); i < count && first == INT64_MAX; i += item_step()) {
    if (divisor[i] == 0) first = i;
  }
  first = reduce_block(first, static_cast<int64_t>(INT64_MAX), Least());
  if (threadIdx.x == 0 && first != INT64_MAX) report(word, fault, first, 0);
}

}  // namespace

Status check_divisor(Stream& stream, const char* name, const View& divisor) noexcept {
  const int64_t count = divisor.numel();
  return launch(stream, grid_for_items(device_of(stream), count), check_divisor_kernel,
                static_cast<const int64_t*>(divisor.data), count,
                possible_fault(FaultKind::kDivisor, name, divisor.shape, 0), device_of(stream).fault);
}

}  // namespace halftone::cuda
