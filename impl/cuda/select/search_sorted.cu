// The places of values in sorted rows, by bisection. One thread for each value.
#include "cuda/base/element.h"
#include "cuda/base/launch.h"
#include "cuda/select/entries.h"
#include "cuda/select/less.h"

namespace halftone::cuda {
namespace {

struct Search {
  Elements sorted;
  Elements values;
  int64_t count;    // of a sorted row
  int64_t columns;  // of a row of values
  bool after_equals;
};

template <class C>
HALFTONE_KERNEL search_kernel(Search search, int64_t* out, int64_t count) {
  for (int64_t i = first_item(); i < count; i += item_step()) {
    const C value = load<C>(search.values, i);
    const int64_t row = i / search.columns * search.count;
    int64_t low = 0;
    int64_t high = search.count;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      const C other = load<C>(search.sorted, row + middle);
      const bool comes_before = search.after_equals ? !is_less(value, other) : is_less(other, value);
      if (comes_before) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    out[i] = low;
  }
}

}  // namespace

Status search_sorted(Stream& stream, bool after_equals, const View& sorted, const View& values,
                     const View& out) noexcept {
  const Search search = {.sorted = {sorted.data, sorted.dtype},
                         .values = {values.data, values.dtype},
                         .count = sorted.shape[1],
                         .columns = values.shape[1],
                         .after_equals = after_equals};
  return with_compute_type(sorted.dtype, [&]<class C>() {
    return launch(stream, grid_for_items(device_of(stream), values.numel()), search_kernel<C>, search,
                  static_cast<int64_t*>(out.data), values.numel());
  });
}

}  // namespace halftone::cuda
