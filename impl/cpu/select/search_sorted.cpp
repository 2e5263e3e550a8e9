// The places of values in sorted rows, by bisection.
#include <algorithm>

#include "cpu/device.h"
#include "cpu/select/entries.h"
#include "cpu/select/keys.h"
#include "cpu/simd/ranges.h"

namespace halftone::cpu {

namespace {

// About as many elements as one search reads, for cutting the work.
constexpr int64_t kReadsOfSearch = 16;

template <class T>
int64_t place_of(const T* sorted, int64_t count, T value, bool after_equals) {
  const auto key = key_of(value);
  int64_t low = 0;
  int64_t high = count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const auto other = key_of(sorted[middle]);
    if (other < key || (after_equals && other == key)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

Status search_sorted(Stream& stream, bool after_equals, const View& sorted, const View& values,
                     const View& out) noexcept {
  const int64_t count = sorted.shape[1];
  const int64_t columns = values.shape[1];
  auto* const places = static_cast<int64_t*>(out.data);
  const bool known = try_visit_dtype(OrderedTypes{}, sorted.dtype, [&]<class T>() {
    const auto* rows = static_cast<const T*>(sorted.data);
    const auto* wanted = static_cast<const T*>(values.data);
    for_each_range(pool_of(stream), values.numel(), kChunkSize / kReadsOfSearch, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        places[i] = place_of(rows + i / columns * count, count, wanted[i], after_equals);
      }
    });
  });
  if (known) return {};
  return Status::failure(Code::kUnsupported, "search_sorted has no kernel for %s", name_of(sorted.dtype));
}

}  // namespace halftone::cpu
